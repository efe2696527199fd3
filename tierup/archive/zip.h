// ZipArchive: the entries of a zip file, read by way of its central directory.
//
// Stored entries can be used where they lie; deflated ones are inflated. Everything the file
// says is checked before use: offsets, sizes, counts, names, overlaps, and how far its
// entries may expand. docs/decisions/0002-zip-reader.md says why this is our own reader.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/archive/byte_source.h"

namespace tierup::archive {

struct ZipLimits {
  // Of one entry that is read as text or pickle.
  uint64_t max_record_bytes = uint64_t{1} << 30;
  // Of all inflated entries together: this, plus the ratio times the size of the file.
  uint64_t max_inflated_bytes = uint64_t{256} << 20;
  uint64_t max_inflated_ratio = 100;
};

// Thread rule: constant after creation; reading from many threads is allowed.
class ZipArchive {
 public:
  struct Entry {
    std::string name;
    uint64_t header_offset = 0;  // Of the local header.
    uint64_t stored_bytes = 0;
    uint64_t bytes = 0;  // Uncompressed.
    uint32_t crc = 0;
    bool deflated = false;
  };

  // Throws kCorruptArchive for a broken or hostile file, kUnsupported for encrypted entries,
  // several disks, and methods other than stored and deflate.
  explicit ZipArchive(Ref<ByteSource> source, const ZipLimits& limits = {});
  // Whether the bytes begin or end as a zip file does.
  static bool looks_like_zip(const ByteSource& source);

  const Ref<ByteSource>& source() const { return source_; }
  // In the order of the central directory, without directories.
  const std::vector<Entry>& entries() const { return entries_; }
  // By exact name, else by a single match that ignores case; null if there is none.
  const Entry* find(std::string_view name) const;

  // The content, with its CRC checked. Throws kCorruptArchive.
  std::string read(const Entry& entry) const;
  // The content as elements of `dtype`, aliasing the source where that is possible (see
  // make_storage). The CRC is not checked: that would read every weight at load.
  Ref<Storage> storage(const Entry& entry, ScalarType dtype) const;
  // Where the content begins in the source.
  uint64_t data_offset(const Entry& entry) const;

 private:
  void read_directory();
  void check_overlaps() const;
  void inflate_into(const Entry& entry, char* out) const;

  Ref<ByteSource> source_;
  ZipLimits limits_;
  uint64_t directory_offset_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, size_t> index_;
  mutable std::atomic<uint64_t> inflated_bytes_{0};
};

}  // namespace tierup::archive
