// MemoryPlan: where the intermediate tensors of a run lie in one arena.
//
// A run with given argument sizes is recorded once: each allocation with its size and its place in
// time. Blocks whose lives do not overlap share memory (greedy by size, as Pisarchyk and Lee 2020,
// "Efficient Memory Management for Deep Neural Net Inference"). Later runs replay the plan: the
// n-th allocation gets the n-th block. What outlives the recorded run (outputs) comes from the
// allocator, always.
//
// Nothing rests on a run repeating itself: an allocation of another size ends the replay (the
// allocator serves the rest), a block is handed out only if nothing that it overlaps is still
// alive, and an arena of which anything is alive after its run is never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tierup/base/idle_slots.h"
#include "tierup/tensor/block_owner.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

// One allocation of a recorded run. Times count allocations and releases.
struct BlockLife {
  size_t bytes;
  uint32_t begin;
  uint32_t end;  // kForever: alive when the run ended.
  static constexpr uint32_t kForever = UINT32_MAX;
};

class Arena;  // The memory of one run at a time.

// Constant but for its pool of arenas. Thread rule: any thread, no locks.
class MemoryPlan {
 public:
  explicit MemoryPlan(std::vector<BlockLife> lives);
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;

  struct Block {
    size_t bytes = 0;
    size_t offset = 0;
    bool escapes = false;  // Comes from the allocator.
    // Earlier blocks that last lay where this one does: [first, last) of before().
    uint32_t before_begin = 0;
    uint32_t before_end = 0;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  std::span<const uint32_t> before(const Block& block) const {
    return {before_.data() + block.before_begin, before_.data() + block.before_end};
  }
  const std::vector<BlockLife>& lives() const { return lives_; }
  size_t arena_bytes() const { return arena_bytes_; }
  // The most bytes alive at one time: no plan can do with less.
  size_t lower_bound() const { return lower_bound_; }

  // Frees the arenas kept for the next runs; returns how many.
  size_t trim();

 private:
  friend class ArenaScope;
  struct Placement {
    std::vector<size_t> offsets;  // By block.
    size_t bytes = 0;
    uint32_t highest = 0;  // The block that ends there.
  };
  Placement place(const std::vector<uint32_t>& order) const;
  void place_blocks();
  void find_lower_bound(const std::vector<uint32_t>& order);
  void find_predecessors();
  Ref<Arena> acquire();
  void keep(Ref<Arena> arena);

  static constexpr size_t kKept = 16;
  std::vector<BlockLife> lives_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> before_;
  size_t arena_bytes_ = 0;
  size_t lower_bound_ = 0;
  IdleSlots<Arena, kKept> kept_;
};

// Records the allocations of this thread while it lives.
class RecordingScope final : public AllocationScope {
 public:
  RecordingScope();
  ~RecordingScope() override;
  Ref<Storage> allocate(size_t bytes) override;
  // What was recorded; whatever is alive now is taken to live for ever.
  std::vector<BlockLife> lives() const;

 private:
  class Recorder;
  Ref<Recorder> recorder_;
};

// Serves the allocations of this thread by a plan while it lives.
class ArenaScope final : public AllocationScope {
 public:
  // `poison`, a test aid: blocks are filled with NaNs when they are handed out.
  explicit ArenaScope(MemoryPlan& plan, bool poison = false);
  ~ArenaScope() override;
  Ref<Storage> allocate(size_t bytes) override;

 private:
  MemoryPlan& plan_;
  Ref<Arena> arena_;
  const bool poison_;
  size_t next_ = 0;
  bool diverged_ = false;
};

}  // namespace tierup::runtime
