// MemoryPlan: where the intermediate tensors of a run lie in one arena.
//
// A run with given argument sizes is recorded once: each allocation with its size and its place in
// time, and a layout is made of that (runtime/block_layout.h). Later runs replay it: the n-th
// allocation gets the n-th block. What outlives the recorded run (outputs) comes from the
// allocator, always.
//
// Nothing rests on a run repeating itself: an allocation of another size ends the replay (the
// allocator serves the rest), a block is handed out only if nothing that it overlaps is still
// alive, and an arena of which anything is alive after its run is never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tierup/base/idle_slots.h"
#include "tierup/runtime/block_layout.h"
#include "tierup/tensor/block_owner.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

class Arena;  // The memory of one run at a time.

// Constant but for its pool of arenas. Thread rule: any thread, no locks.
class MemoryPlan {
 public:
  explicit MemoryPlan(std::shared_ptr<const BlockLayout> layout) : layout_(std::move(layout)) {}
  explicit MemoryPlan(std::vector<BlockLife> lives)
      : MemoryPlan(std::make_shared<const BlockLayout>(std::move(lives))) {}
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;

  const BlockLayout& layout() const { return *layout_; }
  // For the plan of the same graph over other weights.
  const std::shared_ptr<const BlockLayout>& shared_layout() const { return layout_; }

  // Frees the arenas kept for the next runs; returns how many.
  size_t trim();

 private:
  friend class ArenaScope;
  Ref<Arena> acquire();
  void keep(Ref<Arena> arena);

  static constexpr size_t kKept = 16;
  const std::shared_ptr<const BlockLayout> layout_;
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
