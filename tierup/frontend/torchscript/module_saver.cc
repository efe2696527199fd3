#include "tierup/frontend/torchscript/module_saver.h"

#include "tierup/archive/atomic_file.h"
#include "tierup/archive/torch_save.h"
#include "tierup/base/error.h"

namespace tierup::frontend::torchscript {
namespace {

constexpr std::string_view kData = "data.pkl";
constexpr std::string_view kStorages = "data/";
constexpr std::string_view kContentHash = ".data/serialization_id";

// Whether a record of the old archive belongs into the new one as it is.
bool is_kept(std::string_view record) {
  return record != kData && !record.starts_with(kStorages) && record != kContentHash;
}

}  // namespace

bool has_own_state(const ClassType& type) {
  return type.find_method("__setstate__") && type.find_method("__getstate__");
}

void save_module(const std::string& path, const archive::ModelArchive& source,
                 const Ref<ObjectValue>& root, const archive::PickleWriter::StateOf& state_of) {
  source.require_kind(archive::ArchiveKind::kTorchScript);
  archive::PickleWriter pickle(archive::PickleDialect::kTorchScript, state_of);
  pickle.value(IValue(root), "");
  archive::AtomicFile file(path);
  archive::ZipWriter zip(file);
  const std::string folder = source.root() + "/";
  zip.add(folder + std::string(kData), pickle.finish());
  archive::add_storages(zip, source.root(), pickle);
  for (const archive::ZipArchive::Entry& entry : source.zip().entries()) {
    const std::string_view name = entry.name;
    if (name.starts_with(folder) && !is_kept(name.substr(folder.size()))) continue;
    zip.copy(source.zip(), entry);
  }
  zip.finish();
  file.commit();
}

}  // namespace tierup::frontend::torchscript
