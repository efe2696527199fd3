// ZipWriter: a zip file as PyTorch's readers and ours want it, written front to back.
//
// Contents are stored, at multiples of 64 bytes (an "FB" extra field fills the gap), so that a
// reader can map them; entries of another archive are taken over as they lie there, deflated or
// not. Large files get the ZIP64 fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tierup/archive/byte_sink.h"
#include "tierup/archive/zip.h"

namespace tierup::archive {

// Thread rule: used by one thread.
class ZipWriter {
 public:
  // Outlived by `sink`, to which nothing else is written meanwhile.
  explicit ZipWriter(ByteSink& sink) : sink_(sink) {}

  // Each name once; throws kInvalidArgument for a repeated or endless one, else as
  // ByteSink::write.
  void add(const std::string& name, const void* bytes, size_t count);
  void add(const std::string& name, std::string_view bytes) {
    add(name, bytes.data(), bytes.size());
  }
  // The entry's bytes as they lie in `from`, under its name there.
  void copy(const ZipArchive& from, const ZipArchive::Entry& entry);
  // The directory. Nothing can be added after it.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t header_offset;
    uint64_t stored_bytes;
    uint64_t bytes;
    uint32_t crc;
    bool deflated;
  };
  void begin(Entry entry);
  void write_end(uint64_t directory_at);

  ByteSink& sink_;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
};

}  // namespace tierup::archive
