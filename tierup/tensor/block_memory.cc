#include "tierup/tensor/block_memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>

#include "tierup/base/block_marks.h"
#include "tierup/tensor/huge_pages.h"

namespace tierup {
namespace {

constexpr size_t kCacheLine = 64;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// In builds for the address sanitizer every block comes from the heap that it watches.
bool is_for_page_heap(size_t bytes) {
  return !kBlocksAreMarked && bytes >= PageHeap::kLeastBytes && bytes <= PageHeap::kMostBytes;
}

void* allocate_on(size_t bytes, PageKind kind) {
  if (is_for_page_heap(bytes)) {
    if (void* block = PageHeap::of_process().allocate(bytes, kind)) return block;
  }
  // The standard wants a multiple of the alignment.
  if (bytes < kHugePageBytes) return std::aligned_alloc(kCacheLine, round_up(bytes, kCacheLine));
  void* block = std::aligned_alloc(kHugePageBytes, round_up(bytes, kHugePageBytes));
  // Only whole huge pages, so that the rest of the last one is not taken; a refusal costs nothing.
  const int advice = kind == PageKind::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
  if (block != nullptr) madvise(block, bytes / kHugePageBytes * kHugePageBytes, advice);
  return block;
}

}  // namespace

void* reserve_block(size_t bytes, PageKind kind) {
  // Smaller ones share their pages with whatever the heap has beside them.
  const bool is_huge = kind == PageKind::kHuge && bytes >= PageHeap::kLeastBytes &&
                       !HugePages::of_process().are_dear();
  return allocate_on(bytes, is_huge ? PageKind::kHuge : PageKind::kSmall);
}

void make_pages(void* block, size_t bytes, PageKind kind) {
  if (kind == PageKind::kSmall || bytes < PageHeap::kLeastBytes) return;
  HugePages& pages = HugePages::of_process();
  auto* const first = static_cast<char*>(block);
  pages.are_dear() ? HugePages::keep_small(first, bytes) : pages.make(first, bytes);
}

void* allocate_block(size_t bytes, PageKind kind) {
  void* block = reserve_block(bytes, kind);
  if (block != nullptr) make_pages(block, bytes, kind);
  return block;
}

void* allocate_block_over(size_t bytes, std::span<void*> spare) {
  void* block = nullptr;
  if (is_for_page_heap(bytes)) block = PageHeap::of_process().allocate_over(bytes, spare);
  return block != nullptr ? block : allocate_block(bytes);
}

size_t block_bytes(void* block) {
  const size_t bytes = PageHeap::of_process().bytes_of(block);
  return bytes > 0 ? bytes : malloc_usable_size(block);
}

void free_block(void* block) {
  if (!PageHeap::of_process().free(block)) std::free(block);
}

void touch_blocks_ahead(size_t bytes, const std::stop_token& stop) {
  if (is_for_page_heap(bytes)) PageHeap::of_process().touch_ahead(bytes, stop);
}

}  // namespace tierup
