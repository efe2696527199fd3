// safetensors: named tensors and text metadata in one file.
//
// The format is an 8-byte little-endian header length, a JSON header, and the tensors' bytes.
// Test cases and the command line's inputs and outputs come in it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tierup/archive/byte_source.h"
#include "tierup/tensor/tensor.h"

namespace tierup::archive {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using TextMetadata = std::map<std::string, std::string>;

// An opened file. Reading checks the whole header at once: its size, the JSON, dtypes, shapes,
// that every tensor's bytes lie inside the file, have the size of its shape, and do not overlap.
// Thread rule: constant after creation.
class Safetensors {
 public:
  struct Entry {
    std::string name;
    ScalarType dtype;
    IntVector sizes;
    uint64_t begin;  // Offset of the first byte in the source.
    uint64_t bytes;
  };

  // Throws kNotFound for a file that cannot be opened, kCorruptArchive, and kUnsupported for
  // a dtype that tierup does not know.
  static Safetensors open(const std::string& path) { return read(map_file(path)); }
  static Safetensors read(Ref<ByteSource> source);

  const TextMetadata& metadata() const { return metadata_; }
  // In the order of the header.
  const std::vector<Entry>& entries() const { return entries_; }
  bool contains(std::string_view name) const { return index_.contains(std::string(name)); }
  // A contiguous tensor that aliases the mapping where it is aligned there (writes stay private to
  // this process), else a copy. Each call makes a new tensor; calls for one name share
  // memory only if it aliases. Throws kNotFound.
  Tensor tensor(std::string_view name) const;
  Tensor tensor(const Entry& entry) const;
  // All of them, in the order of the header.
  NamedTensors tensors() const;

 private:
  Ref<ByteSource> source_;
  TextMetadata metadata_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

// The file's bytes. Tensors may have any strides; they are stored contiguous, in the given
// order. Throws kInvalidArgument for a repeated or reserved name, kUnsupported for a dtype that
// the format lacks (complex128, quantized types) and for lazy conj or neg bits.
std::string to_safetensors(const NamedTensors& tensors, const TextMetadata& metadata = {});
// Writes the same to a file, replacing it at once when complete. Throws kNotFound if it cannot.
void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const TextMetadata& metadata = {});

}  // namespace tierup::archive
