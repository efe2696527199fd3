// Finds the dict of tensors in what a file holds.
#include "tierup/archive/state_dict.h"

#include "tierup/archive/model_archive.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

constexpr std::string_view kWeightKeys[] = {"state_dict", "model_state_dict", "model"};

// The dict itself, or the one that a checkpoint keeps its weights in.
const DictValue& weights_of(const DictValue& root) {
  for (const std::string_view key : kWeightKeys) {
    const IValue* inner = root.find(IValue(key));
    if (inner != nullptr && inner->is_dict()) return inner->to_dict();
  }
  return root;
}

bool looks_like_safetensors(const ByteSource& source) {
  return source.size() >= 9 && source.read_text(8, 1) == "{";
}

}  // namespace

NamedTensors read_state_dict(Ref<ByteSource> source) {
  if (looks_like_safetensors(*source)) return Safetensors::read(std::move(source)).tensors();
  const Ref<ModelArchive> archive = ModelArchive::read(std::move(source));
  archive->require_kind(ArchiveKind::kTorchSave);
  NoClasses classes;
  const IValue root = archive->unpickle("data", classes);
  require(root.is_dict(), ErrorCode::kUnsupported,
          "{}: holds a value of type {}, not a state dict (a dict of tensors by name)",
          archive->name(), root.tag_name());
  NamedTensors tensors;
  for (const auto& [key, value] : weights_of(root.to_dict()).entries()) {
    if (key.is_str() && value.is_tensor()) tensors.emplace_back(key.to_str(), value.to_tensor());
  }
  return tensors;
}

NamedTensors open_state_dict(const std::string& path) { return read_state_dict(map_file(path)); }

}  // namespace tierup::archive
