// RecordedCalls: the plans of one graph for runs under a tape, and the trial between them and tier
// 0.
//
// What a plan gains shows in the backward pass as much as in the call, and that pass is started
// from elsewhere. So what the contenders are timed by is a whole step: from the begin of one
// recorded call to the begin of the next one in the same thread.
#pragma once

#include <mutex>
#include <thread>

#include "tierup/tier/plan_table.h"

namespace tierup::tier {

// Thread rule: any thread; calls never wait.
class RecordedCalls {
 public:
  using Clock = PlanTrial::Clock;

  PlanTable& table() { return table_; }
  const PlanTable& table() const { return table_; }

  // Whether a call that found no plan should ask for one; once for each, after `runs` calls.
  bool wants_plan(uint32_t runs, uint32_t most_plans);
  // The plan that was asked for is there, or cannot be made.
  void set_made(std::string why_not);
  void reset();

  // Whose turn the call is; `sized` is the plan's entry for its sizes, or null. Ends the turn of
  // the call before it.
  PlanTrial::Contender begin(const Ref<const InstalledPlan>& plan, SizedPlan* sized,
                             bool is_settled);
  // Why there is no plan; empty if there may be one.
  std::string why_not() const;

 private:
  struct OpenTurn {
    std::thread::id thread;
    Ref<const InstalledPlan> plan;  // Keeps the turn's trial.
    PlanTrial::Turn turn;
    Clock::time_point start;
  };

  PlanTable table_;
  std::atomic<uint32_t> runs_{0};
  std::atomic<uint32_t> made_{0};
  std::atomic<bool> is_requested_{false};
  mutable std::mutex mutex_;  // Guards what follows; a call that does not get it is not timed.
  std::optional<OpenTurn> open_;
  std::string why_not_;
};

}  // namespace tierup::tier
