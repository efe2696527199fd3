#include "tierup/tier/plan_table.h"

namespace tierup::tier {

size_t InstalledPlan::held_bytes() const {
  size_t bytes = sized.arena_bytes();
  for (const ops::HoldsMemory* holder : holders) bytes += holder->held_bytes();
  return bytes;
}

void InstalledPlan::give_back_sources() const {
  for (const ops::HoldsMemory* holder : holders) holder->give_back_sources();
}

PlanTable::Lookup PlanTable::find(std::span<const IValue> arguments,
                                  const ops::Policy& policy) const {
  Lookup result{};
  result.outcome = runtime::GuardOutcome::kHolds;
  if (plans_.empty()) return result;  // Tier 0 won: no reader need be announced.
  result.plan = plans_.find([&](const Ref<const InstalledPlan>& candidate) {
    result.had_plans = true;
    result.outcome = candidate->guard.check(arguments, policy);
    if (result.outcome == runtime::GuardOutcome::kWeightsChanged) result.outdated = candidate;
    return result.outcome == runtime::GuardOutcome::kHolds;
  });
  if (result.plan) result.plan->hits.fetch_add(1, std::memory_order_relaxed);
  return result;
}

size_t PlanTable::install(Ref<const InstalledPlan> plan, const PlanBounds& bounds) {
  const std::lock_guard<std::mutex> lock(writers_);
  return plans_.add(std::move(plan), [&](const std::vector<Ref<const InstalledPlan>>& plans) {
    size_t bytes = 0;
    for (const auto& each : plans) bytes += each->held_bytes();
    return plans.size() > bounds.plans || bytes > bounds.bytes;
  });
}

Ref<const InstalledPlan> PlanTable::with_serial(uint32_t serial) const {
  return plans_.find([&](const Ref<const InstalledPlan>& plan) { return plan->serial == serial; });
}

}  // namespace tierup::tier
