#include "tierup/base/heap_ahead.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tierup/base/block_marks.h"

namespace tierup {
namespace {

// Small enough that glibc takes them from the heap by default, instead of mapping each.
constexpr size_t kBlock = size_t{96} << 10;
constexpr size_t kPage = 4096;
constexpr size_t kStep = size_t{256} << 10;  // Between two looks whether to stop.

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Of Linux 5.14; earlier ones refuse.
#endif

}  // namespace

// The range is what lies between the blocks if they lie side by side, as they do in a heap that
// has little free memory; of others only the last run of neighbours counts.
HeapAhead::HeapAhead(size_t bytes) {
  if (kBlocksAreMarked) return;
  std::vector<char*> blocks(bytes / kBlock, nullptr);
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(kBlock));
    if (block == nullptr) break;
    const bool is_next = block >= end_ && block < end_ + kPage;
    if (!is_next) begin_ = block;
    end_ = block + kBlock;
    last_ = block;
  }
  for (char* block : blocks) {
    if (block != last_) std::free(block);
  }
}

HeapAhead::~HeapAhead() { std::free(last_); }

void HeapAhead::touch(const std::stop_token& stop) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(end_) / kPage * kPage;
  uintptr_t at = (reinterpret_cast<uintptr_t>(begin_) + kPage - 1) / kPage * kPage;
  while (at < end && !stop.stop_requested()) {
    const size_t bytes = std::min<size_t>(kStep, end - at);
    if (madvise(reinterpret_cast<void*>(at), bytes, MADV_POPULATE_WRITE) != 0) return;
    at += bytes;
  }
}

}  // namespace tierup
