// PlanTable: the installed plans of one graph, found without a lock (base/recently_used.h).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tierup/base/recently_used.h"
#include "tierup/base/ref.h"
#include "tierup/ops/regions/neural_net.h"
#include "tierup/ops/regions/twin_calls.h"
#include "tierup/ops/table/holds_memory.h"
#include "tierup/profile/graph_profile.h"
#include "tierup/runtime/entry_guard.h"
#include "tierup/runtime/plan.h"
#include "tierup/tier/plan_trial.h"
#include "tierup/tier/sized_plans.h"
#include "tierup/tier/tier_report.h"

namespace tierup::tier {

// What a plan may be made without, where the whole does not pay.
enum class PlanVariant : uint8_t { kFull, kWithoutNets, kWithoutGroups };

// A variant that a plan which stands is to be tried against once calls have earned it.
class LaterVariant {
 public:
  using Clock = std::chrono::steady_clock;
  void put_off(PlanVariant variant, Clock::time_point due) {
    variant_.store(variant, std::memory_order_relaxed);
    due_.store(due.time_since_epoch().count(), std::memory_order_release);
  }
  // Once, when it is due.
  std::optional<PlanVariant> take(Clock::time_point now) {
    Clock::rep due = due_.load(std::memory_order_acquire);
    if (due > now.time_since_epoch().count()) return std::nullopt;
    if (!due_.compare_exchange_strong(due, kNever)) return std::nullopt;
    return variant_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr Clock::rep kNever = Clock::duration::max().count();
  std::atomic<Clock::rep> due_{kNever};
  std::atomic<PlanVariant> variant_{PlanVariant::kFull};
};

// A specialised plan as it stands in the table. Constant but for its counters.
struct InstalledPlan final : public RefCounted, public UseMark {
  runtime::EntryGuard guard;
  std::unique_ptr<runtime::Plan> plan;
  bool is_static = false;
  uint32_t serial = 0;  // 1 for the graph's first.
  double compile_ms = 0;
  std::vector<StepReport> steps;  // What was done and what was refused, for explain.
  // What it was made from, so that it can be made again for other weights.
  std::shared_ptr<const profile::GraphProfile> profile;
  ops::Policy policy;
  // The plan's constants that keep memory of their own; the plan keeps them.
  std::vector<const ops::HoldsMemory*> holders;
  // Those that are compiled steps, each once.
  std::vector<const ops::HasTwin*> compiled_steps;
  // While it is made: nets that are still to be compared with tier 0.
  std::vector<Ref<ops::NeuralNet>> unconfirmed;
  mutable SizedPlans sized;  // By argument sizes.
  PlanVariant variant = PlanVariant::kFull;
  bool has_nets = false;
  bool has_groups = false;
  // Whether something in it follows from the numbers of weights (passes/core/weight_reads.h), or
  // may: other weights get a plan made from the beginning.
  bool reads_weights = false;
  // The serial of the plan that this variant is tried against, or that stood before it; 0: none.
  uint32_t former = 0;
  mutable PlanTrial trial{sized};  // Against tier 0, the former plan, and the same with branches.
  mutable LaterVariant later;
  mutable std::atomic<bool> is_withdrawn{false};  // Its removal from the table is under way.
  mutable std::atomic<uint64_t> hits{0};

  // What the plan packed, and the arenas it keeps.
  size_t held_bytes() const;
  // HoldsMemory::give_back_sources of all that packed.
  void give_back_sources() const;
};

// Of one table. The newest plan stays, whatever it holds.
struct PlanBounds {
  size_t plans = 12;
  size_t bytes = SIZE_MAX;
};

class PlanTable {
 public:
  struct Lookup {
    Ref<const InstalledPlan> plan;  // Null if no guard holds.
    runtime::GuardOutcome outcome;  // Of the last guard tried; kHolds if there was no plan at all.
    bool had_plans = false;
    Ref<const InstalledPlan> outdated;  // A plan whose weights changed.
  };

  // Allocates nothing, takes no lock, waits for nobody.
  Lookup find(std::span<const IValue> arguments, const ops::Policy& policy) const;
  // Adds a plan in front; above the bounds the least recently used ones go. Returns how many went.
  size_t install(Ref<const InstalledPlan> plan, const PlanBounds& bounds);
  void remove(const InstalledPlan* plan) {
    const std::lock_guard<std::mutex> lock(writers_);
    plans_.remove(plan);
  }
  // The plan with this serial number; null if it is not in the table.
  Ref<const InstalledPlan> with_serial(uint32_t serial) const;
  void clear() {
    const std::lock_guard<std::mutex> lock(writers_);
    plans_.clear();
  }
  std::vector<Ref<const InstalledPlan>> plans() const { return plans_.entries(); }
  bool empty() const { return plans_.empty(); }

 private:
  RecentlyUsed<InstalledPlan> plans_;
  std::mutex writers_;
};

}  // namespace tierup::tier
