#include "tierup/tier/tiered_graph.h"

#include <chrono>
#include <thread>

#include "tierup/base/error.h"

namespace tierup::tier {

std::string_view reason_text(Reason reason) {
  switch (reason) {
    case Reason::kNone: return "a specialised plan stands";
    case Reason::kCompileOff: return "compilation is off";
    case Reason::kProfiling: return "still being profiled";
    case Reason::kJobQueued: return "a compile job waits or runs";
    case Reason::kBudgetSpent: return "the specialisation budget is spent: pinned to tier 0";
    case Reason::kCompileFailed: return "compilation failed: pinned to tier 0";
    case Reason::kMismatch: return "tier 1 differed from tier 0: demoted";
  }
  return "unknown";
}

TieredGraph::TieredGraph(const ir::Function& function, std::shared_ptr<const ir::Graph> graph,
                         Ref<ObjectValue> self, const TieringOptions& options)
    : function_(function), graph_(std::move(graph)), self_(std::move(self)), options_(options) {
  if (options_.compile == CompileMode::kOff) pin(Reason::kCompileOff, "");
}

Ref<const InstalledPlan> TieredGraph::plan_for(std::span<const IValue> arguments,
                                               const ops::Policy& policy, CompileQueue& queue) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  PlanTable::Lookup lookup = table_.find(arguments, policy);
  if (lookup.plan && !options_.guards_fail) return std::move(lookup.plan);
  tier0_calls_.fetch_add(1, std::memory_order_relaxed);
  if (lookup.had_plans) {
    guard_failures_[static_cast<size_t>(lookup.outcome)].fetch_add(1, std::memory_order_relaxed);
  }
  if (pinned_.load(std::memory_order_relaxed) || job_pending_.load(std::memory_order_relaxed))
    return nullptr;
  on_miss(arguments, policy, queue, lookup);
  if (options_.compile != CompileMode::kBlocking || options_.guards_fail) return nullptr;
  return table_.find(arguments, policy).plan;
}

void TieredGraph::on_miss(std::span<const IValue> arguments, const ops::Policy& policy,
                          CompileQueue& queue, const PlanTable::Lookup& lookup) {
  // After a specialisation was made, the next one needs twice as many misses as the last.
  uint64_t skip = misses_to_skip_.load(std::memory_order_relaxed);
  if (lookup.outdated) {
    table_.remove(lookup.outdated.get());
    const std::lock_guard<std::mutex> lock(mutex_);
    ++invalidations_;
  }
  if (skip > 0) {
    misses_to_skip_.compare_exchange_strong(skip, skip - 1);
    return;
  }
  std::optional<SpecializeRequest> request;
  uint64_t generation = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!profile_) profile_.emplace();
    profile_->record(arguments);
    if (profile_->run_count() < options_.profiled_runs || job_pending_.load()) return;
    request = next_request(policy);
    if (!request) return;
    generation = generation_;
    job_pending_.store(true);
    reason_ = Reason::kJobQueued;
  }
  if (options_.compile == CompileMode::kBlocking) {
    compile(std::move(*request), generation, std::atomic<bool>(false));
    return;
  }
  CompileJob job;
  job.owner = this;
  job.run = [self = shared_from_this(), request = std::move(*request),
             generation](const std::atomic<bool>& cancelled) {
    self->compile(request, generation, cancelled);
  };
  queue.push(std::move(job));
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
  SpecializeRequest request;
  request.function = &function_;
  request.graph = graph_;
  request.self = self_;
  request.profile = *profile_;
  request.policy = policy;
  request.is_static = next_is_static();
  return request;
}

void TieredGraph::compile(SpecializeRequest request, uint64_t generation,
                          const std::atomic<bool>& cancelled) {
  Ref<InstalledPlan> plan;
  std::string failure;
  try {
    if (options_.compile_delay_ms > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(options_.compile_delay_ms));
    }
    plan = specialize(request, options_, cancelled);
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {
    failure = "an unknown exception";
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  job_pending_.store(false);
  if (generation != generation_ || cancelled.load()) return;  // Stale: nobody wants it.
  if (!failure.empty()) {
    pinned_.store(true);
    reason_ = Reason::kCompileFailed;
    detail_ = std::move(failure);
    return;
  }
  if (!plan) return;
  profile_.reset();
  // A weight was written while the job ran: the plan would never hold. Profile anew.
  if (!plan->guard.weights_hold()) return;
  plan->serial = ++made_;
  evictions_ += static_cast<uint32_t>(table_.install(plan, options_.max_plans));
  misses_to_skip_.store(options_.policy == Policy::kAdaptive ? (uint64_t{1} << std::min(made_, 20U))
                                                             : 0);
  reason_ = Reason::kNone;
}

void TieredGraph::pin(Reason reason, std::string detail) {
  pinned_.store(true);
  reason_ = reason;
  detail_ = std::move(detail);
  profile_.reset();
}

void TieredGraph::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++generation_;
  made_ = 0;
  profile_.reset();
  misses_to_skip_.store(0);
  job_pending_.store(false);
  pinned_.store(options_.compile == CompileMode::kOff);
  reason_ = options_.compile == CompileMode::kOff ? Reason::kCompileOff : Reason::kProfiling;
  detail_.clear();
  table_.clear();
}

void TieredGraph::demote(std::string detail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++generation_;
  pin(Reason::kMismatch, std::move(detail));
  table_.clear();
}

GraphReport TieredGraph::report() const {
  GraphReport report;
  report.name = function_.name();
  report.calls = calls_.load();
  report.tier0_calls = tier0_calls_.load();
  for (size_t i = 0; i < report.guard_failures.size(); ++i)
    report.guard_failures[i] = guard_failures_[i].load();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    report.plans_made = made_;
    report.budget_left = options_.budget() - std::min(made_, options_.budget());
    report.evictions = evictions_;
    report.invalidations = invalidations_;
    report.reason = reason_;
    report.detail = detail_;
    if (profile_) report.profile = profile_->to_string();
  }
  for (const Ref<const InstalledPlan>& plan : table_.plans()) {
    report.plans.push_back({plan->serial, plan->is_static, plan->compile_ms, plan->hits.load(),
                            plan->guard.to_string(), plan->notes, plan->plan->graph().to_string()});
  }
  return report;
}

}  // namespace tierup::tier
