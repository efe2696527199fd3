#include "tierup/base/object_memory.h"

#include <array>
#include <cstdint>
#include <new>

#include "tierup/base/block_marks.h"
#include "tierup/base/memory_use.h"

namespace tierup {
namespace {

constexpr size_t kStep = 32;                       // Sizes are rounded up to a multiple of it.
constexpr size_t kClasses = 32;                    // Recorded calls are the largest.
constexpr size_t kMaxKeptBytes = size_t{1} << 20;  // Of one size and thread.

struct Block {
  Block* next;
};

// Plain data, so that reaching it takes no check; `keeper` below empties it when the thread ends.
struct Lists {
  std::array<Block*, kClasses> first;
  std::array<uint32_t, kClasses> count;
  bool has_keeper;
  bool ended;  // Objects freed by later thread-local destructors go to the heap.
};
constinit thread_local Lists lists{};

size_t class_of(size_t bytes) { return (bytes + kStep - 1) / kStep - 1; }
bool is_small(size_t bytes) { return !kBlocksAreMarked && bytes > 0 && bytes <= kStep * kClasses; }
// Blocks of one size and thread.
constexpr auto kMaxKept = [] {
  std::array<uint32_t, kClasses> counts{};
  for (size_t i = 0; i < kClasses; ++i) counts[i] = kMaxKeptBytes / ((i + 1) * kStep);
  return counts;
}();

// What the heap is asked for.
size_t block_bytes(size_t bytes) { return is_small(bytes) ? (class_of(bytes) + 1) * kStep : bytes; }

void* take_from_heap(size_t bytes) {
  void* block = ::operator new(bytes);
  object_use().bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return block;
}
void give_to_heap(void* block, size_t bytes) noexcept {
  object_use().bytes.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  ::operator delete(block);
}

struct Keeper {
  Keeper() { lists.has_keeper = true; }
  ~Keeper() {
    lists.ended = true;
    for (size_t index = 0; index < kClasses; ++index) {
      while (Block* block = lists.first[index]) {
        lists.first[index] = block->next;
        give_to_heap(block, (index + 1) * kStep);
      }
    }
    lists.count = {};
  }
};

}  // namespace

void* allocate_object(size_t bytes) {
  if (!is_small(bytes)) return take_from_heap(bytes);
  const size_t index = class_of(bytes);
  Block* block = lists.first[index];
  if (block == nullptr) return take_from_heap(block_bytes(bytes));
  lists.first[index] = block->next;
  --lists.count[index];
  return block;
}

void free_object(void* memory, size_t bytes) noexcept {
  if (!is_small(bytes) || lists.ended ||
      lists.count[class_of(bytes)] == kMaxKept[class_of(bytes)]) {
    give_to_heap(memory, block_bytes(bytes));
    return;
  }
  if (!lists.has_keeper) {
    static thread_local Keeper keeper;
    static_cast<void>(&keeper);
  }
  const size_t index = class_of(bytes);
  lists.first[index] = new (memory) Block{lists.first[index]};
  ++lists.count[index];
}

}  // namespace tierup
