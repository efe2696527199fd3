// Finds root, kind and version of an archive, and reads its records and pickles.
#include "tierup/archive/model_archive.h"

#include <algorithm>
#include <charconv>

#include "tierup/archive/file_kind.h"
#include "tierup/base/error.h"

namespace tierup::archive {
namespace {

constexpr int64_t kOldestVersion = 1;
constexpr int64_t kNewestVersion = 10;
constexpr std::string_view kDataRecord = "data.pkl";
constexpr std::string_view kFlatProgramRecord = "serialized_exported_program.json";

std::string_view kind_text(ArchiveKind kind) {
  switch (kind) {
    case ArchiveKind::kTorchScript: return "a TorchScript archive (torch.jit.save)";
    case ArchiveKind::kTorchSave: return "a checkpoint or state dict written by torch.save";
    case ArchiveKind::kExported: return "an exported program (torch.export.save)";
  }
  return "";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

Ref<ModelArchive> ModelArchive::read(Ref<ByteSource> source) {
  refuse_other_formats(*source);
  Ref<ModelArchive> archive(new ModelArchive(std::move(source)));
  archive->find_root();
  archive->find_kind();
  if (archive->kind_ != ArchiveKind::kExported) archive->read_version();
  archive->check_byte_order();
  return archive;
}

void ModelArchive::require_kind(ArchiveKind wanted) const {
  require(kind_ == wanted, ErrorCode::kUnsupported, "{} is {}, not {}", name(), kind_text(kind_),
          kind_text(wanted));
}

const ZipArchive::Entry* ModelArchive::find(std::string_view record) const {
  return root_.empty() ? zip_.find(record) : zip_.find(fmt::format("{}/{}", root_, record));
}

// The folder of the first entry; if that one is foreign (some tools add their own), the folder
// of the only data.pkl.
void ModelArchive::find_root() {
  const auto& entries = zip_.entries();
  require(!entries.empty(), ErrorCode::kCorruptArchive, "{}: the zip file has no entries", name());
  // Exported programs of PyTorch 2.6 and 2.7 have no folder around them.
  if (zip_.find(kFlatProgramRecord) != nullptr) return;
  const std::string& first = entries.front().name;
  root_ = first.substr(0, first.find('/'));
  if (first.find('/') != std::string::npos && contains(kDataRecord)) return;
  const std::string ending = fmt::format("/{}", kDataRecord);
  const auto is_data = [&](const auto& entry) {
    return entry.name.ends_with(ending) && entry.name.find("/.data/") == std::string::npos;
  };
  const auto found = std::find_if(entries.begin(), entries.end(), is_data);
  if (found != entries.end() && std::count_if(entries.begin(), entries.end(), is_data) == 1) {
    root_ = found->name.substr(0, found->name.size() - ending.size());
  }
}

void ModelArchive::find_kind() {
  const bool has_data = contains(kDataRecord);
  if (contains("archive_format") || contains(kFlatProgramRecord) ||
      (!has_data && !records("models/").empty())) {
    kind_ = ArchiveKind::kExported;
    return;
  }
  if (!has_data) refuse_archive(*this);
  const bool has_code = contains("constants.pkl") || !records("code/").empty();
  if (!records(".data/ts_code/").empty() || contains(".data/extern_modules")) refuse_archive(*this);
  kind_ = has_code ? ArchiveKind::kTorchScript : ArchiveKind::kTorchSave;
}

void ModelArchive::read_version() {
  const std::string_view record = contains(".data/version") ? ".data/version" : "version";
  require(contains(record), ErrorCode::kCorruptArchive, "{}: the record \"version\" is missing",
          name());
  const std::string text = read_record(record);
  const std::string_view digits = trimmed(text);
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), version_);
  require(problem == std::errc() && end == digits.data() + digits.size(),
          ErrorCode::kCorruptArchive, "{}: \"{}\" is not a file format version", name(),
          digits.substr(0, 40));
  require(version_ >= kOldestVersion && version_ <= kNewestVersion, ErrorCode::kUnsupported,
          "{}: file format version {} is not supported; tierup reads the versions {} to {}", name(),
          version_, kOldestVersion, kNewestVersion);
}

void ModelArchive::check_byte_order() const {
  if (!contains("byteorder")) return;
  const std::string text = read_record("byteorder");
  require(trimmed(text) != "big", ErrorCode::kUnsupported,
          "{}: written on a big-endian machine; save it again on a little-endian one", name());
}

const ZipArchive::Entry& ModelArchive::require_record(std::string_view record) const {
  const ZipArchive::Entry* entry = find(record);
  require(entry != nullptr, ErrorCode::kNotFound, "{}: the record \"{}\" is missing", name(),
          record);
  return *entry;
}

std::string ModelArchive::read_record(std::string_view record) const {
  return zip_.read(require_record(record));
}

std::vector<std::string> ModelArchive::records(std::string_view prefix) const {
  std::vector<std::string> names;
  const std::string folder = root_.empty() ? "" : root_ + "/";
  const std::string full = fmt::format("{}{}", folder, prefix);
  for (const ZipArchive::Entry& entry : zip_.entries()) {
    if (entry.name.starts_with(full)) names.push_back(entry.name.substr(folder.size()));
  }
  return names;
}

Ref<Storage> ModelArchive::record_storage(std::string_view record, ScalarType dtype) const {
  const ZipArchive::Entry* entry = find(record);
  require(entry != nullptr, ErrorCode::kCorruptArchive, "{}: the record \"{}\" is missing", name(),
          record);
  return zip_.storage(*entry, dtype);
}

IValue ModelArchive::unpickle(std::string_view name, ClassResolver& classes) const {
  const std::string record = fmt::format("{}.pkl", name);
  if (name == "constants" && !contains(record)) return make_tuple({});
  const std::string bytes = read_record(record);
  const StorageLoader load = [&](const std::string& key, ScalarType dtype, int64_t) {
    return record_storage(fmt::format("{}/{}", name, key), dtype);
  };
  UnpickleOptions options;
  options.name = fmt::format("{}: {}", this->name(), record);
  return archive::unpickle(bytes, classes, load, options);
}

}  // namespace tierup::archive
