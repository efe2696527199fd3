// SizedPlans: what one plan learnt for each set of argument sizes that calls came with.
//
// A call works out its key once, from the sizes of its arguments, and finds one entry, which has
// all that depends on them: where intermediate tensors lie (runtime/memory_plan.h), and which way
// of running is the fastest (plan_trial.h). Nothing rests on a key being right, since whatever
// uses an entry checks what it meets.
//
// There are kMost entries. Where other sizes keep coming (Newcomers), they get the place of those
// that were used the longest ago. Calls may still be at work with an entry that went, so it stays
// until the plan goes, without the memory that it kept.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tierup/base/recently_used.h"
#include "tierup/runtime/memory_plan.h"
#include "tierup/tensor/ivalue.h"
#include "tierup/tier/sized_trial.h"

namespace tierup::tier {

// For one set of sizes. Thread rule: any thread, no locks.
struct SizedPlan {
  explicit SizedPlan(uint64_t key) : signature(key) {}
  const uint64_t signature;
  // Null if no run was recorded yet; then it stays.
  runtime::MemoryPlan* memory() const { return memory_.load(std::memory_order_acquire); }

  SizedTrial trial;

 private:
  friend class SizedPlans;
  std::atomic<runtime::MemoryPlan*> memory_{nullptr};
  std::unique_ptr<runtime::MemoryPlan> owned_memory_;
  std::atomic<bool> came_before_{false};
  std::atomic<uint64_t> last_use_{0};  // The look-up's number.
};

// Thread rule: any thread. Callers of at() and wants_recording() wait for nobody.
class SizedPlans {
 public:
  static constexpr size_t kMost = 8;
  using Signature = uint64_t;
  // Of all tensors among the arguments.
  static Signature signature_of(std::span<const IValue> arguments);

  SizedPlans() = default;
  ~SizedPlans();
  SizedPlans(const SizedPlans&) = delete;
  SizedPlans& operator=(const SizedPlans&) = delete;

  // The entry for these sizes, which may be a new one; null if they have none (yet). Stays as long
  // as this does.
  SizedPlan* at(Signature signature);
  // True when the run of these sizes that asks should be recorded: they come a second time, and no
  // other run is recorded. add_memory() or give_up_recording() must follow.
  bool wants_recording(SizedPlan& sized);
  // Does nothing if there is one already.
  void add_memory(SizedPlan& sized, std::unique_ptr<runtime::MemoryPlan> memory);
  // Those of a plan of the same graph over other weights: nothing has to be recorded again.
  void take_layouts(const SizedPlans& older);
  // The recorded run failed.
  void give_up_recording() { is_recorded_.store(false, std::memory_order_release); }

  // Those that calls find, the oldest first.
  std::vector<SizedPlan*> entries() const;
  uint64_t replacements() const { return replacements_.load(std::memory_order_relaxed); }
  // The arenas that runs keep for the next ones, of all sizes.
  size_t arena_bytes() const;
  // Frees the arenas kept for the next runs; returns how many.
  size_t trim();

 private:
  SizedPlan* find(Signature signature) const;
  SizedPlan* add(Signature signature);
  bool is_worth_a_place(Signature signature);

  std::array<std::atomic<SizedPlan*>, kMost> places_{};
  std::atomic<uint64_t> look_ups_{0};
  std::atomic<uint64_t> replacements_{0};
  std::atomic<bool> is_recorded_{false};           // A run, or its plan is being made.
  mutable std::mutex writers_;                     // Guards what follows.
  std::vector<std::unique_ptr<SizedPlan>> owned_;  // Those that went, too.
  Newcomers<Signature> newcomers_;
};

}  // namespace tierup::tier
