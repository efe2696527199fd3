// CodeCache: compiled kernels of the whole process, by what they compute.
//
// A kernel holds no weights and no addresses: the same expressions over the same element types and
// access make the same code, whichever model, generation of weights, size class or branched twin
// asks. So the code generator runs once for each content, and swaps of weights never run it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "tierup/base/ref.h"
#include "tierup/kernels/pointwise/fused_kernel.h"

namespace tierup::codegen {

// One kernel; either function is set. It is valid while `code` is held.
struct CachedKernel {
  kernels::FusedFunction function = nullptr;
  kernels::MatrixFunction matrix = nullptr;
  Ref<RefCounted> code;
  size_t bytes = 0;  // Of the machine code, about.
};

// Thread rule: any thread. Two that ask for the same new kernel at once may both compile it.
class CodeCache {
 public:
  // The process's own; 64 MiB of code.
  static CodeCache& instance();

  // Kernels that no plan uses any more go, least recently used first, above so many bytes.
  explicit CodeCache(size_t max_bytes) : max_bytes_(max_bytes) {}
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  // `key` names expressions, types, access and instruction set, and nothing by address.
  std::optional<CachedKernel> find(const std::string& key);
  void add(const std::string& key, const CachedKernel& kernel);
  uint64_t hits() const;
  size_t bytes() const;

 private:
  using Uses = std::list<std::string>;  // Keys, most recently used first.
  struct Entry {
    CachedKernel kernel;
    Uses::iterator use;
  };
  void trim();  // Under the lock.

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  Uses uses_;
  size_t bytes_ = 0;
  uint64_t hits_ = 0;
};

}  // namespace tierup::codegen
