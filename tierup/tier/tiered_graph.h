// TieredGraph: one function's way through the tiers: profile, compile job, installed plans.
//
//   first calls: tier 0, profiled  ->  job queued  ->  plans in the table  ->  (a call no guard
//   covers: tier 0 for that call, and after some such calls one more specialisation, while the
//   budget lasts)
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tierup/runtime/program.h"
#include "tierup/runtime/run_profiler.h"
#include "tierup/tier/compile_queue.h"
#include "tierup/tier/plan_table.h"
#include "tierup/tier/recorded_calls.h"
#include "tierup/tier/specializer.h"
#include "tierup/tier/tier_report.h"
#include "tierup/tier/tiering_options.h"

namespace tierup::tier {

// Thread rule: every method from any thread. A compile job keeps its graph alive.
class TieredGraph : public std::enable_shared_from_this<TieredGraph> {
 public:
  // `slot`, a function of `program`, is always called on `self` (null: a free function).
  TieredGraph(runtime::Program& program, runtime::Program::PlanSlot& slot, Ref<ObjectValue> self,
              CompileQueue& queue, const TieringOptions& options);

  // Calls the function at the tier that is there; `args` are moved from. Never waits for a
  // compilation, unless compile is blocking.
  IValue run(std::span<IValue> args, ops::RunContext& context,
             const Ref<const runtime::RunState>& state);
  // Makes the plans of `older`, the same function on another module, for this one's weights. In
  // the calling thread; what cannot be made is left to the calls to come.
  void adopt(const TieredGraph& older);
  // Drops plans and profiles; the next call starts over.
  void flush();
  // Tier 1 gave other results than tier 0: no plans any more.
  void demote(std::string detail);
  GraphReport report() const;
  std::vector<Ref<const InstalledPlan>> plans() const { return table_.plans(); }
  // Calls still take turns between a plan and tier 0.
  bool has_open_trials() const;
  // Of specialised and branched plans: see runtime::FramePool. The rest are the program's.
  size_t trim_frames() const;
  size_t kept_frames() const;

 private:
  struct Call {
    std::span<IValue> args;
    ops::RunContext& context;
    const Ref<const runtime::RunState>& state;
  };
  // Work of operators as jobs of the queue.
  class OperatorWork final : public ops::BackgroundWork {
   public:
    explicit OperatorWork(TieredGraph& graph) : graph_(graph) {}
    void push(std::function<void()> work) override;

   private:
    TieredGraph& graph_;
  };
  IValue run_tier0(const Call& call) {
    return program_.run(slot_, call.args, call.context, call.state);
  }
  // Tier 0 where it is all there is: with branches at the same time, if that is wanted and pays.
  IValue run_uncompiled(const Call& call);
  void offer_tier0_branches(const profile::GraphProfile& run);
  IValue run_profiled(const Call& call, uint64_t installs);
  IValue run_specialized(const Ref<const InstalledPlan>& plan, const Call& call);
  IValue run_plan(const Ref<const InstalledPlan>& plan, const Call& call);
  IValue run_planned(const Ref<const InstalledPlan>& plan, const Call& call, SizedPlan* sized);
  // Under a tape: see tiered_graph_recorded.cc.
  IValue run_recorded(const Call& call);
  void request_recorded_plan(const ops::Policy& policy);
  void install_recorded_plan(const SpecializeRequest& request);
  // The plan's trial: see tiered_graph_trials.cc.
  IValue run_contender(PlanTrial::Contender contender, const Ref<const InstalledPlan>& plan,
                       const Call& call, SizedPlan* sized);
  void after_verdict(const Ref<const InstalledPlan>& plan, const SizedPlan& sized);
  void try_variant(const Ref<const InstalledPlan>& best, PlanVariant variant);
  void withdraw_loser(const InstalledPlan& plan, const PlanTrial::Result& result);
  // By a job: of what the plan packed, whatever tier 0 has read again.
  void give_back_sources(const Ref<const InstalledPlan>& plan);
  // A call measured this contender although the trial was decided.
  void after_look(const Ref<const InstalledPlan>& plan, PlanTrial::Contender contender);
  void plan_memory(const Ref<const InstalledPlan>& plan, SizedPlan* sized,
                   std::vector<runtime::BlockLife> lives);
  // Gives the arenas back once a release delay passed without a call.
  void trim_when_idle(uint64_t calls_before);
  IValue run_checked(const Ref<const InstalledPlan>& plan, const Call& call);
  // Profiles the call on copies of its arguments, and compiles before it returns.
  void rehearse(const Call& call, uint64_t installs);

  // A job of this graph, which it keeps alive; put off by `delay`, if given.
  using JobBody = std::function<void(TieredGraph& graph, const std::atomic<bool>& cancelled)>;
  enum class JobWeight : uint8_t { kHeavy, kLight };  // CompileJob::is_light.
  void push_job(JobBody body, JobWeight weight = JobWeight::kHeavy,
                std::optional<std::chrono::milliseconds> delay = std::nullopt);
  // The same, or at once where calls wait for compilations.
  void push_or_run(JobBody body, JobWeight weight = JobWeight::kHeavy);
  // Does what belongs to a compilation: if that fails, for want of memory or otherwise, the graph
  // gives up on compilations and the call that goes on behind is none the worse.
  template <typename Work>
  void guarded(const Work& work) noexcept {
    try {
      work();
    } catch (const std::exception& error) {
      give_up(error.what());
    } catch (...) {
      give_up("an unknown exception");
    }
  }
  // A job failed: no further ones. What plans there are go on serving.
  void give_up(const char* detail) noexcept;
  // The test aid compile_delay_ms, as long as the job is wanted.
  void delay_compilation(const std::atomic<bool>& cancelled) const;

  // Hands an outdated plan over to be withdrawn.
  bool wants_profile(PlanTable::Lookup& lookup);
  // Takes a plan whose weights or attributes were written out of its table. A light job does, so
  // that no caller takes the table's lock or frees what the plan packed, unless compile is
  // blocking.
  void withdraw(PlanTable& table, Ref<const InstalledPlan> plan);
  // For a light job: holds a plan until no call runs it, so that none frees it.
  void keep_while_used(Ref<const InstalledPlan> plan);
  const runtime::ProfileLayout& layout();
  // `installs`: their count when the run began. A run that began before a plan came was profiled
  // for that one and is no reason for another.
  // `call` and `sample`, which may be null, tell of the run itself; nothing where it was a
  // rehearsal.
  void record(const profile::GraphProfile& run, const ops::Policy& policy, uint64_t installs,
              std::optional<SpecializeRequest::Call> call = std::nullopt,
              std::shared_ptr<const SampleCall> sample = nullptr);
  std::optional<SpecializeRequest> next_request(const ops::Policy& policy);
  SpecializeRequest request_for(const profile::GraphProfile& profile, const ops::Policy& policy);
  // What becomes of the graph if the plan cannot be made: tier 0 for good, or another try once it
  // was profiled anew (what failed for the weights of a swap may do for the next ones).
  enum class OnFailure : uint8_t { kPin, kProfileAnew };
  void compile(const SpecializeRequest& request, uint64_t generation,
               const std::atomic<bool>& cancelled, OnFailure on_failure = OnFailure::kPin) noexcept;
  // What compile() does; throws if it fails and there is no memory to say why.
  void make_plan(const SpecializeRequest& request, uint64_t generation,
                 const std::atomic<bool>& cancelled, OnFailure on_failure);
  // The plan's serial number, unless weights changed meanwhile.
  std::optional<uint32_t> install(const Ref<InstalledPlan>& plan);
  void release_profile_later(uint32_t made);
  // Whether a profiled run that took so long counts twice; whether so many runs are enough, and the
  // next one would be the last, if that counts twice: see tiered_graph_samples.cc.
  bool is_long(std::chrono::nanoseconds took) const;
  bool are_enough(uint32_t runs, bool last_is_long) const {
    return runs + (last_is_long ? 1 : 0) >= options_.profiled_runs;
  }
  bool is_last_profiled(bool is_long) const;
  // A profiled call's sample, where its plan will be compared with it and copying is cheap; see
  // tiered_graph_samples.cc. Null otherwise.
  std::shared_ptr<SampleCall> sample_of(std::span<const IValue> args,
                                        const ops::Policy& policy) const;
  bool may_copy(std::optional<size_t> bytes) const;
  // By the job: whether the plan gives what tier 0 gives.
  bool confirm(const Ref<InstalledPlan>& plan, const SampleCall& sample);
  bool agrees(const Ref<InstalledPlan>& plan, const SampleCall& sample);
  // A plan, compared with tier 0; null if cancelled.
  Ref<InstalledPlan> confirmed_plan(const SpecializeRequest& request,
                                    const std::atomic<bool>& cancelled);
  bool next_is_static() const;
  void pin(Reason reason, std::string detail);
  // One line on standard error, if the option asks for it.
  void log(std::string_view event) const;

  runtime::Program& program_;
  runtime::Program::PlanSlot& slot_;
  const Ref<ObjectValue> self_;
  CompileQueue& queue_;
  const TieringOptions& options_;
  // The adaptive policy, blocking: a call that may be specialised is, before it runs. The reference
  // policy compiles after a profiled call, as the executor it follows does before the next one.
  const bool rehearses_;
  OperatorWork operator_work_{*this};
  PlanTable table_;
  RecordedCalls recorded_;

  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> tier0_calls_{0};
  std::atomic<int64_t> tier0_nanoseconds_{0};  // Of the last profiled call.
  std::atomic<uint64_t> checked_calls_{0};
  std::atomic<uint32_t> failed_jobs_{0};
  std::atomic<uint64_t> calls_to_check_{0};  // Of specialised plans, since the last checked one.
  std::array<std::atomic<uint64_t>, runtime::kGuardOutcomeCount> guard_failures_{};
  std::atomic<bool> pinned_{false};  // No profiling, no jobs; the table may still hold plans.
  std::atomic<bool> job_pending_{false};
  std::atomic<uint64_t> installs_{0};  // Of plans.
  std::atomic<bool> trim_pending_{false};
  std::atomic<uint64_t> misses_to_skip_{0};
  std::once_flag layout_made_;
  std::optional<runtime::ProfileLayout> layout_;
  std::atomic<uint32_t> runs_to_time_;   // Of run_uncompiled.
  std::atomic<uint32_t> failures_left_;  // The test aid compile_failures.
  SizedPlans tier0_sized_;
  PlanTrial tier0_branches_{tier0_sized_, PlanTrial::Contender::kTier0};
  // Jobs that operators pushed and that have not ended: what they make may change a plan's times.
  std::shared_ptr<std::atomic<uint32_t>> operator_jobs_ =
      std::make_shared<std::atomic<uint32_t>>(0);
  std::atomic<uint32_t> lost_trials_{0};  // In a row.
  // Nanoseconds that compilations and trials' slower calls took since the last outcome.
  std::atomic<int64_t> try_cost_{0};

  mutable std::mutex mutex_;  // Guards what follows; held for microseconds, never by a job at work.
  std::optional<profile::GraphProfile> profile_;
  std::optional<SizedPlans::Signature> profiled_sizes_;  // Of the last profiled call.
  std::string profile_text_;  // Of the last specialisation, until its release.
  uint32_t made_ = 0;         // Variants of a plan do not count: they spend no budget.
  uint32_t serials_ = 0;      // Of plans; variants do.
  uint32_t evictions_ = 0;
  uint32_t invalidations_ = 0;
  uint64_t generation_ = 0;  // Of flushes: a job of an older one is stale.
  Reason reason_ = Reason::kProfiling;
  std::string detail_;
};

}  // namespace tierup::tier
