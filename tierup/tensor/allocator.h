// The memory that tensors live in: per-thread caches of freed blocks over the system allocator.
//
// Freed blocks are kept for reuse in size classes, at most 128 MB a thread, or more where memory is
// plenty: all cores' threads together a 32nd of it. What is above goes back to the system at once;
// a thread that then asks for so much again (a step of training, each time) keeps that, too, as
// long as all threads together keep no more than a quarter of the memory. A thread's cache is given
// back when it ends or calls release_thread_cache(). A block may be freed by another thread than
// the one that allocated it; it then joins that thread's cache, if that has asked for such blocks
// as often as it keeps them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tierup {

inline constexpr size_t kTensorAlignment = 64;

// Uninitialised, aligned to kTensorAlignment; null for 0 bytes. Throws kOutOfMemory with the size.
void* allocate_bytes(size_t bytes);
void free_bytes(void* pointer, size_t bytes);

struct AllocatorStats {
  int64_t live_bytes;    // Handed out and not yet freed.
  int64_t peak_bytes;    // Largest live_bytes since the start or the last reset_peak().
  int64_t call_count;    // Calls of allocate_bytes.
  int64_t system_count;  // Calls that had to ask the system.
  int64_t cached_bytes;  // Kept for reuse in all threads' caches.
};
AllocatorStats allocator_stats();
void reset_peak();
// Gives the calling thread's cached blocks back to the system.
void release_thread_cache();
// Allocations beyond this total of live bytes fail with kOutOfMemory; 0: no limit.
void set_memory_limit(int64_t max_live_bytes);

}  // namespace tierup
