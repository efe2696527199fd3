// Memory for a block of tensor data or scratch space, straight from the system.
//
// Blocks of 64 KB and more lie side by side on pages of their own (page_heap.h).
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>

#include "tierup/tensor/page_heap.h"

namespace tierup {

// At least `bytes`, aligned for every kernel; null if there is none. Blocks of less than 64 KB lie
// on whatever pages the heap has, and small ones serve as long as huge ones are dear
// (huge_pages.h).
void* allocate_block(size_t bytes, PageKind kind = PageKind::kSmall);
// The same in two steps: whoever writes the block first calls make_pages(), which makes huge pages
// where it asked for them, or has small ones come as they are touched.
void* reserve_block(size_t bytes, PageKind kind);
void make_pages(void* block, size_t bytes, PageKind kind);
// As allocate_block() on small pages, in the place of spare blocks where there is room without
// them: those become null and are gone (page_heap.h).
void* allocate_block_over(size_t bytes, std::span<void*> spare);
// What the block really has, which is at least what it was asked for.
size_t block_bytes(void* block);
void free_block(void* block);
// Has the system make memory for the next blocks, of so many bytes in all and at most 64 MB, until
// stopped.
void touch_blocks_ahead(size_t bytes, const std::stop_token& stop);

}  // namespace tierup
