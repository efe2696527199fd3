// Recognition of formats by their first bytes and records.
#include "tierup/archive/file_kind.h"

#include <algorithm>

#include "tierup/archive/model_archive.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x} ", static_cast<unsigned char>(c));
  if (!text.empty()) text.pop_back();
  return text;
}

// An 8-byte length followed by a JSON object.
bool looks_like_safetensors(const ByteSource& source, std::string_view head) {
  if (head.size() < 9 || head[8] != '{') return false;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(head[i]);
  return length >= 2 && length <= source.size() - 8;
}

}  // namespace

void refuse_other_formats(const ByteSource& source) {
  if (ZipArchive::looks_like_zip(source)) return;
  const std::string head = source.read_text(0, std::min<uint64_t>(source.size(), 16));
  const std::string_view text = head;
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::kUnsupported, "{}: {}", source.name(), what);
  };
  if (text.starts_with("\x80\x02")) {
    refuse(
        "a torch.save file in the format before PyTorch 1.6; load it there and save it again, with "
        "torch.jit.save for a model or torch.save for a state dict");
  }
  if (text.starts_with("PYTORCH1")) {
    refuse("a preview-era TorchScript container; save the model again with PyTorch 1.6 or later");
  }
  if (text.size() >= 8 && text.substr(4, 4) == "PTMF") {
    refuse(
        "a flatbuffer mobile model; save it with torch.jit.save or in the zip form of "
        "_save_for_lite_interpreter");
  }
  if (text.starts_with("GGUF")) refuse("a GGUF weight file, not a PyTorch model");
  if (looks_like_safetensors(source, text)) {
    refuse("a safetensors file: it holds tensors and no model");
  }
  fail(ErrorCode::kCorruptArchive,
       "{}: not a PyTorch archive: {} bytes that do not begin as a zip file does (first bytes: {})",
       source.name(), source.size(), head.empty() ? "none" : hex(text.substr(0, 8)));
}

void refuse_archive(const ModelArchive& archive) {
  std::string_view what = "a zip file that is no PyTorch archive: it has no data.pkl";
  if (!archive.records(".data/").empty()) {
    what = "a torch.package archive; save the model in it with torch.jit.save";
  } else if (archive.contains("model.json")) {
    what =
        "a TorchScript archive of PyTorch 1.0 to 1.3; load it there and save it again with 1.6 or "
        "later";
  }
  fail(ErrorCode::kUnsupported, "{}: {}", archive.name(), what);
}

}  // namespace tierup::archive
