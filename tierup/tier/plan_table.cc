#include "tierup/tier/plan_table.h"

#include <algorithm>

namespace tierup::tier {

size_t InstalledPlan::held_bytes() const {
  size_t bytes = sized.arena_bytes();
  for (const ops::HoldsMemory* holder : holders) bytes += holder->held_bytes();
  return bytes;
}

PlanTable::Lookup PlanTable::find(std::span<const IValue> arguments,
                                  const ops::Policy& policy) const {
  Lookup result{};
  result.outcome = runtime::GuardOutcome::kHolds;
  const SnapshotCell<Plans>::Reader reader(plans_);
  if (reader.get() == nullptr) return result;
  result.had_plans = true;
  for (const Ref<const InstalledPlan>& candidate : *reader.get()) {
    result.outcome = candidate->guard.check(arguments, policy);
    if (result.outcome == runtime::GuardOutcome::kHolds) {
      result.plan = candidate;
      candidate->hits.fetch_add(1, std::memory_order_relaxed);
      candidate->last_use.store(look_ups_.fetch_add(1, std::memory_order_relaxed),
                                std::memory_order_relaxed);
      return result;
    }
    if (result.outcome == runtime::GuardOutcome::kWeightsChanged) result.outdated = candidate;
  }
  return result;
}

size_t PlanTable::install(Ref<const InstalledPlan> plan, const PlanBounds& bounds) {
  const std::lock_guard<std::mutex> lock(writers_);
  const Plans* old = plans_.current();
  auto next = old != nullptr ? std::make_unique<Plans>(*old) : std::make_unique<Plans>();
  next->insert(next->begin(), std::move(plan));
  size_t evicted = 0;
  const auto held = [&] {
    size_t bytes = 0;
    for (const auto& each : *next) bytes += each->held_bytes();
    return bytes;
  };
  while (next->size() > 1 && (next->size() > bounds.plans || held() > bounds.bytes)) {
    next->erase(std::min_element(next->begin() + 1, next->end(), [](const auto& a, const auto& b) {
      return a->last_use.load(std::memory_order_relaxed) <
             b->last_use.load(std::memory_order_relaxed);
    }));
    ++evicted;
  }
  plans_.replace(std::move(next));
  return evicted;
}

void PlanTable::remove(const InstalledPlan* plan) {
  const std::lock_guard<std::mutex> lock(writers_);
  const Plans* old = plans_.current();
  if (old == nullptr) return;
  auto next = std::make_unique<Plans>(*old);
  std::erase_if(*next, [&](const auto& entry) { return entry.get() == plan; });
  plans_.replace(next->empty() ? nullptr : std::move(next));
}

Ref<const InstalledPlan> PlanTable::with_serial(uint32_t serial) const {
  const SnapshotCell<Plans>::Reader reader(plans_);
  if (reader.get() == nullptr) return nullptr;
  for (const Ref<const InstalledPlan>& plan : *reader.get()) {
    if (plan->serial == serial) return plan;
  }
  return nullptr;
}

void PlanTable::clear() {
  const std::lock_guard<std::mutex> lock(writers_);
  plans_.replace(nullptr);
}

std::vector<Ref<const InstalledPlan>> PlanTable::plans() const {
  const SnapshotCell<Plans>::Reader reader(plans_);
  return reader.get() != nullptr ? *reader.get() : Plans();
}

}  // namespace tierup::tier
