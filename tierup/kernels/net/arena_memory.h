// ArenaMemory: what the nets of one program, one for each of the sizes that come, compute in.
//
// A run takes a block and gives it back: nets for a hundred sizes need as much as the largest of
// them, times the runs at one time. What runs in turn finds the block that it had before, still in
// the cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "tierup/base/idle_slots.h"

namespace tierup::kernels::net {

// Thread rule: any thread; nobody waits.
class ArenaMemory {
 public:
  struct Block {
    std::shared_ptr<char[]> memory;
    size_t bytes = 0;
  };

  ArenaMemory() = default;
  ~ArenaMemory();
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;

  // Sees to blocks of this size, with all their pages made, for the next runs at one time.
  void reserve(size_t bytes, int runs);
  // At least so many bytes on a cache line's boundary.
  std::unique_ptr<Block> take(size_t bytes);
  void give_back(std::unique_ptr<Block> block);
  // Of blocks that no run has just now.
  size_t idle_bytes();

 private:
  static constexpr size_t kMostIdle = 64;
  // Null if there is none of that size; smaller ones go.
  std::unique_ptr<Block> take_idle(size_t bytes);

  IdleSlots<Block, kMostIdle> idle_;
  std::atomic<size_t> idle_count_{0};
  std::atomic<size_t> most_idle_{4};  // More go at once, unless runs were seen to.
};

}  // namespace tierup::kernels::net
