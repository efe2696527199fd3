// PlanTrial: which way of running a function is the fastest, found out on the calls themselves.
//
// A specialised plan is a candidate, no more: its passes predict, and on another processor, beside
// other load or at other sizes they predict wrongly. For each set of argument sizes the contenders
// (tier 0, the plan, the plan with loops by one thread, the plan with branches at the same time,
// the plan that it is to replace) take turns on real calls: short ones two in a row each, of which
// the second is timed, since the first finds the other's data in the caches. The fastest stays once
// the times part, or by the median once they are seen to be alike or the trial has lasted long
// enough. From then on a contender that lost is tried again so rarely that it costs half a percent
// of the time, and reopens the trial if it wins thrice in a row. No call ever waits; each is
// answered by whoever had its turn.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/runtime/plan.h"
#include "tierup/tier/sized_plans.h"

namespace tierup::tier {

// Thread rule: any thread, no locks; a plan with branches is offered once, everything else before
// the first begin().
class PlanTrial {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Contender : uint8_t { kTier0, kPlan, kAlone, kBranched, kFormer };
  static constexpr size_t kContenders = SizedTrial::kContenders;

  // One call's contender, and its time if the call takes part in a trial.
  class Turn {
   public:
    Contender contender() const { return contender_; }
    // Whether the call was measured although the trial of its sizes was decided: it looked whether
    // that still holds.
    bool is_look() const;
    // The call ended well. True if it decided the trial of its sizes.
    bool finish() { return finish(entry_ != nullptr ? time() : Clock::duration{}); }
    // The same for a call that took so long.
    bool finish(Clock::duration took);

   private:
    friend class PlanTrial;
    void start(SizedTrial& entry);
    // Without what tier 0 takes only because a plan stands beside it: kernels/memory/spare_pages.h.
    Clock::duration time() const;

    Contender contender_ = Contender::kPlan;
    SizedTrial* entry_ = nullptr;  // Null if the call is not measured.
    const PlanTrial* trial_ = nullptr;
    bool is_warming_ = false;
    Clock::time_point start_;
    std::chrono::nanoseconds spare_pages_{0};
  };

  // `sized` must outlive this, and holds the trials of all sizes. `standard` serves where nothing
  // is decided: before warm-up, and for sizes without an entry.
  explicit PlanTrial(SizedPlans& sized, Contender standard = Contender::kPlan)
      : sized_(sized), standard_(standard) {
    offer(standard);
  }
  PlanTrial(const PlanTrial&) = delete;
  PlanTrial& operator=(const PlanTrial&) = delete;

  void offer(Contender contender) { offered_.fetch_or(bit(contender), std::memory_order_release); }
  bool is_offered(Contender contender) const { return (offered() & bit(contender)) != 0; }
  // The plan with branches, which the trial owns. Not `tried`, a test aid: all calls take it.
  void offer_branched(std::unique_ptr<const runtime::Plan> branched, bool tried = true);
  // Null if none was offered.
  const runtime::Plan* branched() const { return branched_.get(); }
  // More than one contender.
  bool is_wanted() const { return (offered() & (offered() - 1)) != 0; }
  // Of a call whose sizes have this entry; null: none. `is_settled`: no job for these sizes is
  // under way, so that times say something. `is_crowded`: others want the cores.
  Turn begin(SizedPlan* sized, bool is_settled = true, bool is_crowded = false);

  // Offers the plan with loops by one thread, unless a call of tier 0 took so long before that its
  // loops earn what a team costs. Before the first begin().
  void offer_alone(std::optional<std::chrono::nanoseconds> took);
  // What a call of tier 0 took before there was a plan: one turn less where calls are long. If it
  // was the first of its sizes, a verdict by it is looked at again soon. Before the first begin().
  void note_earlier_call(SizedPlans::Signature signature, std::chrono::nanoseconds took,
                         bool is_first);
  // The plan's first run was a job's, which recorded its memory: turns less to warm up. Before the
  // first begin().
  void note_rehearsal(SizedPlans::Signature signature, std::chrono::nanoseconds took);
  // What another trial of the same contenders found out, for the same plan over other weights.
  void take_verdicts(const PlanTrial& other);

  // The median time of a contender for sizes whose trial has ended, in nanoseconds.
  struct Result {
    Contender winner;
    std::array<std::optional<int64_t>, kContenders> medians;
    int64_t lost_time = 0;  // What the others' calls took longer than the winner's would have.
  };
  static std::optional<Result> result(const SizedPlan& sized);
  // All trials have ended, at least one, and this contender won each.
  bool always_won(Contender contender) const;
  // Some sizes are still tried, or no call has come yet.
  bool is_open() const;
  // The branched plan's frames: see FramePool.
  size_t trim_frames() const;
  size_t kept_frames() const;
  // One line per set of sizes, for explain; empty without a second contender.
  std::string to_string() const;

 private:
  uint8_t offered() const { return offered_.load(std::memory_order_acquire); }
  static constexpr uint8_t bit(Contender contender) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(contender));
  }
  std::vector<SizedPlan*> tried() const;  // Whose trial has begun.
  // Who takes turns for these sizes, or is looked at.
  uint8_t contenders(const SizedTrial& entry) const;
  static bool has(uint8_t contenders, Contender contender) {
    return (contenders & bit(contender)) != 0;
  }
  static Contender nth_of(uint8_t contenders, uint32_t number);
  void reopen(SizedTrial& entry) const;
  bool try_alone(SizedTrial& entry, Contender winner, uint32_t calls) const;
  Turn look_again(SizedTrial& entry, Contender winner, bool is_crowded) const;
  bool judge(SizedTrial& entry) const;
  uint32_t period_of(const SizedTrial& entry, Contender winner) const;
  void settle(SizedTrial& entry, Contender winner) const;
  void compare_again(SizedTrial& entry, Contender contender, int64_t time) const;
  void end_trust(SizedTrial& entry, Contender winner, int64_t time) const;

  SizedPlans& sized_;
  const Contender standard_;
  std::atomic<uint8_t> offered_{0};
  bool is_tried_ = true;
  std::atomic<uint64_t> untried_calls_{0};
  std::unique_ptr<const runtime::Plan> branched_;
};

}  // namespace tierup::tier
