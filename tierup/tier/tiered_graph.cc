#include "tierup/tier/tiered_graph.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "tierup/analysis/alias.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/base/wait_policy.h"
#include "tierup/tier/live_check.h"
#include "tierup/tier/silent_context.h"

namespace tierup::tier {

TieredGraph::TieredGraph(runtime::Program& program, runtime::Program::PlanSlot& slot,
                         Ref<ObjectValue> self, CompileQueue& queue, const TieringOptions& options)
    : program_(program),
      slot_(slot),
      self_(std::move(self)),
      queue_(queue),
      options_(options),
      rehearses_(options.compile == CompileMode::kBlocking && options.policy == Policy::kAdaptive),
      runs_to_time_(options.inter_op_threads > 1 ? std::max(2U, options.profiled_runs) : 0),
      failures_left_(options.compile_failures) {
  if (options_.compile == CompileMode::kOff) pin(Reason::kCompileOff, "");
}

void TieredGraph::log(std::string_view event) const {
  if (options_.log) fmt::print(stderr, "tierup: {}: {}\n", slot_.function().name(), event);
}

IValue TieredGraph::run(std::span<IValue> args, ops::RunContext& context,
                        const Ref<const runtime::RunState>& state) {
  const Call call{args, context, state};
  calls_.fetch_add(1, std::memory_order_relaxed);
  queue_.resume_after_fork();
  if (context.tape != nullptr) return run_recorded(call);
  if (options_.compile == CompileMode::kOff) {
    tier0_calls_.fetch_add(1, std::memory_order_relaxed);
    return options_.inter_op_threads > 1 ? run_uncompiled(call) : run_tier0(call);
  }
  PlanTable::Lookup lookup = table_.find(args, context.policy);
  if (lookup.plan && !options_.guards_fail) return run_specialized(lookup.plan, call);
  if (lookup.had_plans) {
    guard_failures_[static_cast<size_t>(lookup.outcome)].fetch_add(1, std::memory_order_relaxed);
  }
  if (wants_profile(lookup)) {
    const uint64_t installs =
        installs_.load();  // Before the table is looked at again: see record().
    const auto serves = [&] {
      lookup = table_.find(args, context.policy);
      return lookup.plan && !options_.guards_fail;
    };
    if (serves()) return run_specialized(lookup.plan, call);
    if (rehearses_) {
      guarded([&] { rehearse(call, installs); });
      if (serves()) return run_specialized(lookup.plan, call);
    }
    tier0_calls_.fetch_add(1, std::memory_order_relaxed);
    return run_profiled(call, installs);
  }
  tier0_calls_.fetch_add(1, std::memory_order_relaxed);
  return run_tier0(call);
}

IValue TieredGraph::run_specialized(const Ref<const InstalledPlan>& plan, const Call& call) {
  if (options_.verify_rate > 0 && plan->plan->is_pure()) {
    const auto period = static_cast<uint64_t>(1 / std::min(options_.verify_rate, 1.0));
    if (calls_to_check_.fetch_add(1, std::memory_order_relaxed) % period == 0) {
      return run_checked(plan, call);
    }
  }
  return run_plan(plan, call);
}

void TieredGraph::push_job(JobBody body, JobWeight weight,
                           std::optional<std::chrono::milliseconds> delay) {
  CompileJob job;
  job.owner = this;
  job.is_light = weight == JobWeight::kLight;
  job.call_time = std::chrono::nanoseconds(tier0_nanoseconds_.load(std::memory_order_relaxed));
  if (delay) job.not_before = CompileQueue::Clock::now() + *delay;
  // With the caller's threads: more, and a model whose callers have one each would be in their way.
  job.run = [self = shared_from_this(), threads = allowed_threads(),
             body = std::move(body)](const std::atomic<bool>& cancelled) {
    const ThreadCountScope scope(threads);
    self->guarded([&] { body(*self, cancelled); });
  };
  if (!queue_.push(std::move(job))) give_up("no thread or memory for compile jobs");
}

void TieredGraph::push_or_run(JobBody body, JobWeight weight) {
  if (options_.compile == CompileMode::kBlocking) {
    const OutsideRunScope outside;
    return body(*this, std::atomic<bool>(false));
  }
  push_job(std::move(body), weight);
}

void TieredGraph::give_up(const char* detail) noexcept {
  failed_jobs_.fetch_add(1, std::memory_order_relaxed);
  std::string text;
  try {
    text = detail;
  } catch (const std::bad_alloc&) {
    text = "no memory";  // Short enough to need none.
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  job_pending_.store(false);
  try {
    pin(Reason::kCompileFailed, std::move(text));
  } catch (const std::exception&) {
    return;  // It is pinned; what could not be made is the line for the log.
  }
}

void TieredGraph::delay_compilation(const std::atomic<bool>& cancelled) const {
  constexpr std::chrono::milliseconds kNap{5};
  const auto end =
      CompileQueue::Clock::now() + std::chrono::milliseconds(options_.compile_delay_ms);
  while (!cancelled.load() && CompileQueue::Clock::now() < end) std::this_thread::sleep_for(kNap);
}

void TieredGraph::OperatorWork::push(std::function<void()> work) {
  // Counted until the job has gone, whether it ran or was dropped.
  graph_.operator_jobs_->fetch_add(1);
  const std::shared_ptr<void> pending(graph_.operator_jobs_.get(),
                                      [count = graph_.operator_jobs_](void*) { --*count; });
  graph_.push_job(
      [pending, work = std::move(work)](TieredGraph& graph, const std::atomic<bool>& cancelled) {
        graph.delay_compilation(cancelled);
        if (!cancelled.load()) work();
      });
}

IValue TieredGraph::run_plan(const Ref<const InstalledPlan>& plan, const Call& call) {
  if (options_.compile == CompileMode::kBackground) call.context.background = &operator_work_;
  const bool is_tried = plan->trial.is_wanted();
  if (!options_.memory_plan && !is_tried) return run_planned(plan, call, nullptr);
  SizedPlan* sized = plan->sized.at(SizedPlans::signature_of(call.args));
  if (!is_tried) return run_planned(plan, call, sized);
  PlanTrial::Turn turn = plan->trial.begin(
      sized, operator_jobs_->load(std::memory_order_relaxed) == 0, cores_are_crowded());
  IValue result = run_contender(turn.contender(), plan, call, sized);
  if (turn.finish()) {
    guarded([&] { after_verdict(plan, *sized); });
  } else if (turn.is_look()) {
    guarded([&] { after_look(plan, turn.contender()); });
  }
  return result;
}

IValue TieredGraph::run_uncompiled(const Call& call) {
  if (runs_to_time_.load(std::memory_order_relaxed) > 0) {
    runtime::RunProfiler profiler(layout(), call.args);
    IValue result =
        program_.run_single(layout().plan(), call.args, call.context, call.state, &profiler);
    guarded([&] { offer_tier0_branches(profiler.take()); });
    return result;
  }
  if (!tier0_branches_.is_wanted()) return run_tier0(call);
  PlanTrial::Turn turn =
      tier0_branches_.begin(tier0_sized_.at(SizedPlans::signature_of(call.args)));
  IValue result =
      turn.contender() == PlanTrial::Contender::kTier0
          ? run_tier0(call)
          : program_.run_single(*tier0_branches_.branched(), call.args, call.context, call.state);
  turn.finish();
  return result;
}

void TieredGraph::offer_tier0_branches(const profile::GraphProfile& run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (runs_to_time_.load() == 0) return;
  if (!profile_) profile_.emplace();
  profile_->merge(run);
  if (runs_to_time_.fetch_sub(1) > 1) return;
  if (auto plan = fork_plan(layout().plan().graph(), *profile_, options_)) {
    tier0_branches_.offer_branched(std::move(plan), options_.inter_op_grain_us > 0);
  }
  profile_.reset();
}

// The caller gets its answer as ever; tier 0 runs in a job, on copies of what went in and came out.
IValue TieredGraph::run_checked(const Ref<const InstalledPlan>& plan, const Call& call) {
  std::shared_ptr<LiveCheck> check;
  guarded([&] {
    check = std::make_shared<LiveCheck>(program_, slot_, plan, self_, call.args, call.context);
  });
  IValue result = run_plan(plan, call);
  if (check == nullptr) return result;
  guarded([&] {
    check->set_result(result);
    push_job([check](TieredGraph& graph, const std::atomic<bool>& cancelled) {
      if (cancelled.load()) return;
      LiveCheck::Verdict verdict = check->compare();
      if (verdict.outcome == LiveCheck::Outcome::kNotCompared) return;
      graph.checked_calls_.fetch_add(1, std::memory_order_relaxed);
      if (verdict.outcome == LiveCheck::Outcome::kDiffers) {
        graph.demote(std::move(verdict.difference));
      }
    });
  });
  return result;
}

const runtime::ProfileLayout& TieredGraph::layout() {
  std::call_once(layout_made_, [&] { layout_.emplace(program_.plan_of(slot_)); });
  return *layout_;
}

IValue TieredGraph::run_profiled(const Call& call, uint64_t installs) {
  runtime::RunProfiler profiler(layout(), call.args);
  const SizedPlans::Signature signature = SizedPlans::signature_of(call.args);  // A run takes them.
  std::shared_ptr<SampleCall> sample;
  std::vector<IValue> given;  // To a call that may turn out to be the last one.
  guarded([&] {
    if (is_last_profiled(false)) {
      sample = sample_of(call.args, call.context.policy);
    } else if (tries_plans(options_) && is_last_profiled(true)) {
      given.assign(call.args.begin(), call.args.end());
    }
  });
  const auto begin = CompileQueue::Clock::now();
  IValue result =
      program_.run_single(layout().plan(), call.args, call.context, call.state, &profiler);
  const std::chrono::nanoseconds took = CompileQueue::Clock::now() - begin;
  tier0_nanoseconds_.store(took.count(), std::memory_order_relaxed);
  guarded([&] {
    if (!given.empty() && is_long(took) && analysis::leaves_no_trace(layout().plan().graph()))
      sample = sample_of(given, call.context.policy);
    if (sample && may_copy(tensor_bytes(result))) sample->set_result(result);
    if (sample && sample->result() == nullptr) sample = nullptr;
    record(profiler.take(), call.context.policy, installs,
           SpecializeRequest::Call{.signature = signature, .took = took}, std::move(sample));
  });
  return result;
}

void TieredGraph::rehearse(const Call& call, uint64_t installs) {
  if (!is_last_profiled(false)) return;
  const IValue originals = make_tuple({call.args.begin(), call.args.end()});
  const bool can_share = layout().plan().is_pure();
  std::vector<IValue> args =
      can_share ? originals.to_tuple().items : deep_copy(originals).to_tuple().items;
  SilentContext silent(call.context.policy);
  runtime::RunProfiler profiler(layout(), args);
  try {
    program_.run_single(layout().plan(), args, silent.context(), call.state, &profiler);
  } catch (const std::exception&) {
    return;  // The call itself will throw, at tier 0, with its effects.
  }
  record(profiler.take(), call.context.policy, installs);
}

// After a specialisation was made, the next one needs twice as many misses as the last.
bool TieredGraph::wants_profile(PlanTable::Lookup& lookup) {
  if (lookup.outdated) guarded([&] { withdraw(table_, std::move(lookup.outdated)); });
  if (pinned_.load(std::memory_order_relaxed) || job_pending_.load(std::memory_order_relaxed)) {
    return false;
  }
  uint64_t skip = misses_to_skip_.load(std::memory_order_relaxed);
  if (skip == 0) return true;
  misses_to_skip_.compare_exchange_strong(skip, skip - 1);
  return false;
}

void TieredGraph::record(const profile::GraphProfile& run, const ops::Policy& policy,
                         uint64_t installs, std::optional<SpecializeRequest::Call> call,
                         std::shared_ptr<const SampleCall> sample) {
  std::optional<SpecializeRequest> request;
  uint64_t generation = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (pinned_.load() || job_pending_.load() || installs != installs_.load()) return;
    if (!profile_) profile_.emplace();
    profile_->merge(run);
    const bool came_twice = call && profiled_sizes_ == call->signature;
    if (call) profiled_sizes_ = call->signature;
    const bool counts_twice = call && is_long(call->took);
    if (!are_enough(profile_->run_count(), counts_twice)) return;
    request = next_request(policy);
    if (!request) return;
    if (came_twice || counts_twice) request->call = {call->signature, call->took, came_twice};
    request->sample = std::move(sample);
    generation = generation_;
    job_pending_.store(true);
    reason_ = Reason::kJobQueued;
    log(fmt::format("profiled {} runs, to be compiled", profile_->run_count()));
  }
  push_or_run([request = std::move(*request), generation](TieredGraph& graph,
                                                          const std::atomic<bool>& cancelled) {
    graph.compile(request, generation, cancelled);
  });
}

bool TieredGraph::next_is_static() const {
  if (options_.policy == Policy::kAdaptive) return false;
  uint32_t before = 0;
  for (const auto& [is_static, depth] : options_.fusion_strategy) {
    before += depth;
    if (made_ < before) return is_static;
  }
  return false;
}

std::optional<SpecializeRequest> TieredGraph::next_request(const ops::Policy& policy) {
  if (made_ >= options_.budget()) {
    pin(Reason::kBudgetSpent, "");
    return std::nullopt;
  }
  SpecializeRequest request = request_for(*profile_, policy);
  request.is_static = next_is_static();
  return request;
}

SpecializeRequest TieredGraph::request_for(const profile::GraphProfile& profile,
                                           const ops::Policy& policy) {
  SpecializeRequest request;
  request.function = &slot_.function();
  request.graph = program_.plan_of(slot_).shared_graph();
  request.self = self_;
  request.profile = profile;
  request.policy = policy;
  request.threads = allowed_threads();
  return request;
}

void TieredGraph::compile(const SpecializeRequest& request, uint64_t generation,
                          const std::atomic<bool>& cancelled, OnFailure on_failure) noexcept {
  guarded([&] { make_plan(request, generation, cancelled, on_failure); });
}

void TieredGraph::make_plan(const SpecializeRequest& request, uint64_t generation,
                            const std::atomic<bool>& cancelled, OnFailure on_failure) {
  Ref<InstalledPlan> plan;
  std::string failure;
  try {
    delay_compilation(cancelled);
    if (failures_left_.load() > 0) {
      failures_left_.fetch_sub(1);
      fail(ErrorCode::kInternal, "failed as compile_failures asks");
    }
    plan = confirmed_plan(request, cancelled);
    if (plan && request.older != nullptr) plan->trial.take_verdicts(request.older->trial);
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {
    failure = "an unknown exception";
  }
  std::optional<uint32_t> installed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (generation != generation_) return;  // Stale: a flush took the pending mark off already.
    job_pending_.store(false);
    if (cancelled.load()) return;
    if (!failure.empty()) failed_jobs_.fetch_add(1, std::memory_order_relaxed);
    if (!failure.empty() && on_failure == OnFailure::kProfileAnew) {
      profile_.reset();
      reason_ = Reason::kProfiling;
      detail_ = "no plan for the new weights yet: " + failure;
      return;
    }
    if (!failure.empty()) return pin(Reason::kCompileFailed, std::move(failure));
    if (plan) installed = install(plan);
  }
  if (installed) release_profile_later(*installed);
}

Ref<InstalledPlan> TieredGraph::confirmed_plan(const SpecializeRequest& request,
                                               const std::atomic<bool>& cancelled) {
  Ref<InstalledPlan> plan = specialize(request, options_, cancelled);
  if (!plan || !request.sample || confirm(plan, *request.sample)) return plan;
  SpecializeRequest anew = request;
  anew.sample = nullptr;
  return specialize(anew, options_, cancelled);
}

std::optional<uint32_t> TieredGraph::install(const Ref<InstalledPlan>& plan) {
  profile_text_ = profile_ ? profile_->to_string() : "";
  profile_.reset();
  reason_ = table_.empty() ? Reason::kProfiling : Reason::kNone;
  // A weight was written while the job ran: the plan would never hold. Profile anew.
  if (!plan->guard.weights_hold()) return std::nullopt;
  plan->serial = ++serials_;
  if (plan->former == 0) ++made_;
  detail_.clear();
  log(fmt::format("plan {} installed after {:.1f} ms, holds {} KiB", plan->serial, plan->compile_ms,
                  plan->held_bytes() >> 10U));
  const size_t evicted =
      table_.install(plan, {options_.max_plans, size_t{options_.max_plan_mib} << 20});
  if (evicted > 0) log(fmt::format("{} plans evicted", evicted));
  evictions_ += static_cast<uint32_t>(evicted);
  try_cost_.fetch_add(static_cast<int64_t>(1e6 * plan->compile_ms));
  installs_.fetch_add(1);  // After the table has it: who reads this count finds the plan.
  misses_to_skip_.store(options_.policy == Policy::kAdaptive ? (uint64_t{1} << std::min(made_, 20U))
                                                             : 0);
  reason_ = Reason::kNone;
  return made_;
}

// What only explains a plan goes after a while; the plan itself needs none of it.
void TieredGraph::release_profile_later(uint32_t made) {
  if (options_.compile != CompileMode::kBackground) return;
  const auto release = [made](TieredGraph& graph, const std::atomic<bool>& cancelled) {
    const std::lock_guard<std::mutex> lock(graph.mutex_);
    if (!cancelled.load() && graph.made_ == made) graph.profile_text_.clear();
  };
  push_job(release, JobWeight::kLight, std::chrono::milliseconds(options_.release_delay_ms));
}

void TieredGraph::pin(Reason reason, std::string detail) {
  pinned_.store(true);
  reason_ = reason;
  detail_ = std::move(detail);
  profile_.reset();
  if (reason != Reason::kCompileOff) log(fmt::format("{} {}", reason_text(reason), detail_));
}

// The table's first plan is its newest: they are made in the order in which they came.
void TieredGraph::adopt(const TieredGraph& older) {
  if (options_.compile == CompileMode::kOff) return;
  const std::vector<Ref<const InstalledPlan>> plans = older.plans();
  for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
    SpecializeRequest request = request_for(*(*plan)->profile, (*plan)->policy);
    request.is_static = (*plan)->is_static;
    request.variant = (*plan)->variant;
    request.older = &**plan;
    request.older_self = older.self_;
    uint64_t generation = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      generation = generation_;
      job_pending_.store(true);
    }
    compile(request, generation, std::atomic<bool>(false), OnFailure::kProfileAnew);
  }
  // Where tier 0 was faster it is for other weights, too.
  const std::scoped_lock lock(older.mutex_, mutex_);
  if (older.reason_ != Reason::kNotFaster || !table_.empty()) return;
  misses_to_skip_.store(older.misses_to_skip_.load());
  reason_ = older.reason_;
  detail_ = older.detail_;
}

void TieredGraph::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++generation_;
  made_ = 0;
  serials_ = 0;
  profile_.reset();
  profile_text_.clear();
  misses_to_skip_.store(0);
  job_pending_.store(false);
  lost_trials_.store(0);
  try_cost_.store(0);
  trim_pending_.store(false);  // The timer was cancelled with the other jobs.
  pinned_.store(options_.compile == CompileMode::kOff);
  reason_ = options_.compile == CompileMode::kOff ? Reason::kCompileOff : Reason::kProfiling;
  detail_.clear();
  table_.clear();
  recorded_.reset();
  log("flushed");
}

void TieredGraph::demote(std::string detail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++generation_;
  job_pending_.store(false);
  pin(Reason::kMismatch, std::move(detail));
  table_.clear();
}

}  // namespace tierup::tier
