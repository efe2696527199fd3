#include "tierup/tensor/block_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace tierup {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* allocate_block(size_t bytes) {
  // The standard wants a multiple of the alignment.
  if (bytes < kHugePage) return std::aligned_alloc(kCacheLine, round_up(bytes, kCacheLine));
  void* block = std::aligned_alloc(kHugePage, round_up(bytes, kHugePage));
  // Only whole huge pages, so that the rest of the last one is not taken; a refusal costs nothing.
  if (block != nullptr) madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return block;
}

}  // namespace tierup
