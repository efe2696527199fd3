#include "tierup/tier/plan_table.h"

#include <algorithm>
#include <thread>

namespace tierup::tier {

// A reader counts itself in under the phase it saw. It may be counted under a phase that has just
// ended; the writer therefore drains both counters, one after the other.
class PlanTable::Reader {
 public:
  explicit Reader(const PlanTable& table) : table_(table), side_(table.phase_.load() & 1U) {
    table_.readers_[side_].fetch_add(1);  // Sequentially consistent: before the pointer is read.
  }
  ~Reader() { table_.readers_[side_].fetch_sub(1, std::memory_order_release); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  const Snapshot* snapshot() const { return table_.snapshot_.load(); }

 private:
  const PlanTable& table_;
  uint32_t side_;
};

PlanTable::~PlanTable() { delete snapshot_.load(); }

PlanTable::Lookup PlanTable::find(std::span<const IValue> arguments,
                                  const ops::Policy& policy) const {
  Lookup result{};
  result.outcome = runtime::GuardOutcome::kHolds;
  const Reader reader(*this);
  const Snapshot* snapshot = reader.snapshot();
  if (snapshot == nullptr) return result;
  result.had_plans = true;
  for (const Ref<const InstalledPlan>& candidate : *snapshot) {
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

size_t PlanTable::install(Ref<const InstalledPlan> plan, size_t max_plans) {
  const std::lock_guard<std::mutex> lock(writers_);
  const Snapshot* old = snapshot_.load();
  auto next = old != nullptr ? std::make_unique<Snapshot>(*old) : std::make_unique<Snapshot>();
  next->insert(next->begin(), std::move(plan));
  size_t evicted = 0;
  while (next->size() > std::max<size_t>(max_plans, 1)) {
    next->erase(std::min_element(next->begin() + 1, next->end(), [](const auto& a, const auto& b) {
      return a->last_use.load(std::memory_order_relaxed) <
             b->last_use.load(std::memory_order_relaxed);
    }));
    ++evicted;
  }
  replace(std::move(next));
  return evicted;
}

void PlanTable::remove(const InstalledPlan* plan) {
  const std::lock_guard<std::mutex> lock(writers_);
  const Snapshot* old = snapshot_.load();
  if (old == nullptr) return;
  auto next = std::make_unique<Snapshot>(*old);
  std::erase_if(*next, [&](const auto& entry) { return entry.get() == plan; });
  replace(next->empty() ? nullptr : std::move(next));
}

void PlanTable::clear() {
  const std::lock_guard<std::mutex> lock(writers_);
  replace(nullptr);
}

std::vector<Ref<const InstalledPlan>> PlanTable::plans() const {
  const Reader reader(*this);
  const Snapshot* snapshot = reader.snapshot();
  return snapshot != nullptr ? *snapshot : Snapshot();
}

void PlanTable::replace(std::unique_ptr<Snapshot> next) {
  const std::unique_ptr<const Snapshot> old(snapshot_.exchange(next.release()));
  for (int round = 0; round < 2; ++round) {
    const uint32_t side = phase_.fetch_add(1) & 1U;
    while (readers_[side].load() != 0) std::this_thread::yield();
  }
}

}  // namespace tierup::tier
