#include "tierup/tier/recorded_calls.h"

namespace tierup::tier {

bool RecordedCalls::wants_plan(uint32_t runs, uint32_t most_plans) {
  if (runs_.fetch_add(1, std::memory_order_relaxed) + 1 < runs) return false;
  if (made_.load(std::memory_order_relaxed) >= most_plans) return false;
  return !is_requested_.exchange(true);
}

void RecordedCalls::set_made(std::string why_not) {
  made_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(mutex_);
  why_not_ = std::move(why_not);
  // What could not be made once will not be made the next time.
  is_requested_.store(!why_not_.empty());
}

void RecordedCalls::reset() {
  table_.clear();
  runs_.store(0);
  made_.store(0);
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.reset();
  why_not_.clear();
  is_requested_.store(false);
}

PlanTrial::Contender RecordedCalls::begin(const Ref<const InstalledPlan>& plan, SizedPlan* sized,
                                          bool is_settled) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return PlanTrial::Contender::kPlan;
  const Clock::time_point now = Clock::now();
  if (open_ && open_->thread == std::this_thread::get_id()) open_->turn.finish(now - open_->start);
  open_.reset();
  PlanTrial::Turn turn = plan->trial.begin(sized, is_settled);
  const PlanTrial::Contender contender = turn.contender();
  open_.emplace(OpenTurn{std::this_thread::get_id(), plan, turn, now});
  return contender;
}

std::string RecordedCalls::why_not() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return why_not_;
}

}  // namespace tierup::tier
