// ModelArchive: an opened PyTorch zip archive: its records under their root, and its pickles.
//
// Also tells what kind of file it is, and refuses other formats with a text that says what
// they are and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/archive/unpickler.h"
#include "tierup/archive/zip.h"

namespace tierup::archive {

enum class ArchiveKind : uint8_t {
  kTorchScript,  // torch.jit.save: data.pkl with code/ and constants.pkl.
  kTorchSave,    // torch.save: data.pkl alone, such as a state dict.
  kExported,     // torch.export.save: archive_format and models/.
};

// Thread rule: constant after creation.
class ModelArchive : public RefCounted {
 public:
  // Throws kNotFound for a file that cannot be opened, kUnsupported for a format that is recognised
  // and not read (legacy torch.save, PYTORCH1, flatbuffer, GGUF, torch.package, 1.0-1.3
  // archives...) and kCorruptArchive otherwise.
  static Ref<ModelArchive> open(const std::string& path) { return read(map_file(path)); }
  static Ref<ModelArchive> read(Ref<ByteSource> source);

  ArchiveKind kind() const { return kind_; }
  // Throws kUnsupported unless this is the wanted kind, saying what the file is instead.
  void require_kind(ArchiveKind wanted) const;
  // The file format version (1 to 10); 0 where the kind has none.
  int64_t version() const { return version_; }
  // The first folder of all names, without the slash.
  const std::string& root() const { return root_; }
  // The path, or "<memory>".
  const std::string& name() const { return zip_.source()->name(); }
  const ZipArchive& zip() const { return zip_; }
  const Ref<ByteSource>& source() const { return zip_.source(); }

  // Records are named without the root: "data.pkl", "code/__torch__.py".
  bool contains(std::string_view record) const { return find(record) != nullptr; }
  // Throws kNotFound.
  std::string read_record(std::string_view record) const;
  // How long it is. Throws kNotFound.
  uint64_t record_bytes(std::string_view record) const { return require_record(record).bytes; }
  // Names of the records that begin with `prefix`, in file order.
  std::vector<std::string> records(std::string_view prefix) const;
  // A storage over the bytes of a record (see ZipArchive::storage). Throws kNotFound.
  Ref<Storage> record_storage(std::string_view record, ScalarType dtype) const;

  // The value of NAME.pkl, with its storages under NAME/. `name` is "data" or "constants"; an
  // archive without constants.pkl has the empty tuple.
  IValue unpickle(std::string_view name, ClassResolver& classes) const;

 private:
  explicit ModelArchive(Ref<ByteSource> source) : zip_(std::move(source)) {}
  const ZipArchive::Entry* find(std::string_view record) const;
  const ZipArchive::Entry& require_record(std::string_view record) const;
  void find_root();
  void find_kind();
  void read_version();
  void check_byte_order() const;

  ZipArchive zip_;
  std::string root_;
  ArchiveKind kind_ = ArchiveKind::kTorchScript;
  int64_t version_ = 0;
};

}  // namespace tierup::archive
