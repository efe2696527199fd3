// Runs under a tape: see recorded_calls.h and recorded_plan.h.
#include <fmt/format.h>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/tier/recorded_plan.h"
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {

IValue TieredGraph::run_recorded(const Call& call) {
  const bool is_plain = options_.compile == CompileMode::kOff || !call.context.policy.grad_mode ||
                        call.state->observer != nullptr;
  if (is_plain || options_.guards_fail) return run_tier0(call);
  PlanTable::Lookup lookup = recorded_.table().find(call.args, call.context.policy);
  if (lookup.outdated) guarded([&] { withdraw(recorded_.table(), std::move(lookup.outdated)); });
  if (!lookup.plan && recorded_.wants_plan(options_.profiled_runs, options_.max_plans)) {
    guarded([&] { request_recorded_plan(call.context.policy); });
    lookup = recorded_.table().find(call.args, call.context.policy);
  }
  if (!lookup.plan) return run_tier0(call);
  if (options_.compile == CompileMode::kBackground) call.context.background = &operator_work_;
  if (lookup.plan->trial.is_wanted()) {
    const bool is_settled = operator_jobs_->load(std::memory_order_relaxed) == 0;
    SizedPlan* sized = lookup.plan->sized.at(SizedPlans::signature_of(call.args));
    const auto contender = recorded_.begin(lookup.plan, sized, is_settled);
    if (contender == PlanTrial::Contender::kTier0) return run_tier0(call);
  }
  return program_.run_single(*lookup.plan->plan, call.args, call.context, call.state);
}

void TieredGraph::request_recorded_plan(const ops::Policy& policy) {
  SpecializeRequest request = request_for(profile::GraphProfile(), policy);
  push_or_run(
      [request = std::move(request)](TieredGraph& graph, const std::atomic<bool>& cancelled) {
        graph.delay_compilation(cancelled);
        if (!cancelled.load()) graph.install_recorded_plan(request);
      });
}

void TieredGraph::install_recorded_plan(const SpecializeRequest& request) {
  std::string why_not;
  Ref<InstalledPlan> plan;
  try {
    plan = make_recorded_plan(request, options_, why_not);
  } catch (const std::exception& error) {
    why_not = error.what();
  }
  if (plan) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      plan->serial = ++serials_;
    }
    log(fmt::format("plan {} for recorded runs installed after {:.1f} ms", plan->serial,
                    plan->compile_ms));
    recorded_.table().install(plan, {options_.max_plans, size_t{options_.max_plan_mib} << 20});
  }
  recorded_.set_made(std::move(why_not));
}

}  // namespace tierup::tier
