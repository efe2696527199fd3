// Memory for a block of tensor data or scratch space, straight from the system.
//
// Blocks of 64 KB and more lie on huge pages (page_heap.h): their first use then faults once per
// 2 MB instead of once per 4 KB, which otherwise is most of a first call's time.
#pragma once

#include <cstddef>
#include <stop_token>

namespace tierup {

// At least `bytes`, aligned for every kernel; null if there is none.
void* allocate_block(size_t bytes);
// What the block really has, which is at least what it was asked for.
size_t block_bytes(void* block);
void free_block(void* block);
// Has the system make memory for the next blocks, of so many bytes in all and at most 32 MB, until
// stopped.
void touch_blocks_ahead(size_t bytes, const std::stop_token& stop);

}  // namespace tierup
