// A plan never loses: what becomes of a plan once calls by turns have told.
//
//   full plan against tier 0
//     clearly faster                     it stays; tier 0 is looked at again now and then
//     clearly slower                     a variant (without nets, then without groups) is made in
//                                        the background and takes turns with the best so far
//     neither                            the same once calls have gone on for so long that it costs
//                                        a percent; the faster one serves meanwhile
//     a variant is faster without nets   nets do not pay: none with nets is tried any more
//     slower, and no variant is left     the plans go; the graph is profiled anew once so many
//                                        calls have passed that another try costs a percent
//
// Verdicts are per set of argument sizes; a plan goes only if it lost for all that it has seen.
// Whatever changes the table runs as a light job, as does taking away a plan whose weights were
// written: callers take no lock.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "tierup/base/error.h"
#include "tierup/base/loops_alone.h"
#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {
namespace {

using Contender = PlanTrial::Contender;

// A smaller gain than the medians of some calls can tell from none: what nets gain, groups may
// cost, or the other way round.
constexpr double kClearGain = 0.95;
// What trying again may cost of all calls' time, compilations of all variants and their slower
// calls; twice as rarely after each loss in a row.
constexpr double kRetryShare = 0.01;

// The next part to be left out, of those that the plan has. Where it won without nets, they do not
// pay, and would be back in a plan without groups.
std::optional<PlanVariant> variant_after(const InstalledPlan& plan, Contender winner) {
  const bool has_won =
      winner == Contender::kPlan || winner == Contender::kAlone || winner == Contender::kBranched;
  if (plan.variant == PlanVariant::kFull && plan.has_nets) return PlanVariant::kWithoutNets;
  if (plan.variant == PlanVariant::kWithoutNets && has_won) return std::nullopt;
  if (plan.variant != PlanVariant::kWithoutGroups && plan.has_groups)
    return PlanVariant::kWithoutGroups;
  return std::nullopt;
}

double median_of(const PlanTrial::Result& result, Contender contender) {
  const auto& median = result.medians[static_cast<size_t>(contender)];
  return median ? static_cast<double>(*median) : 0;
}

bool is_clear_gain(const PlanTrial::Result& result) {
  return result.winner != Contender::kTier0 &&
         median_of(result, result.winner) < kClearGain * median_of(result, Contender::kTier0);
}

// Of the better one of those that are not tier 0.
bool is_clear_loss(const PlanTrial::Result& result) {
  if (result.winner != Contender::kTier0) return false;
  double plans = std::numeric_limits<double>::infinity();
  for (const Contender contender :
       {Contender::kPlan, Contender::kAlone, Contender::kBranched, Contender::kFormer}) {
    if (result.medians[static_cast<size_t>(contender)])
      plans = std::min(plans, median_of(result, contender));
  }
  return median_of(result, Contender::kTier0) < kClearGain * plans;
}

// When another compilation and another trial, as long as the last ones, will have cost no more than
// their share.
LaterVariant::Clock::time_point time_to_earn(const InstalledPlan& plan,
                                             const PlanTrial::Result& result) {
  const double cost = 1e6 * plan.compile_ms + static_cast<double>(result.lost_time);
  return LaterVariant::Clock::now() +
         std::chrono::nanoseconds(static_cast<int64_t>(cost / kRetryShare));
}

}  // namespace

IValue TieredGraph::run_contender(Contender contender, const Ref<const InstalledPlan>& plan,
                                  const Call& call, SizedPlan* sized) {
  switch (contender) {
    case Contender::kTier0:
      tier0_calls_.fetch_add(1, std::memory_order_relaxed);
      return run_tier0(call);
    case Contender::kBranched:
      return program_.run_single(*plan->trial.branched(), call.args, call.context, call.state);
    case Contender::kAlone: {
      const LoopsAloneScope alone;
      return run_planned(plan, call, sized);
    }
    case Contender::kFormer:
      if (const Ref<const InstalledPlan> former = table_.with_serial(plan->former))
        return run_planned(former, call, former->sized.at(sized->signature));
      break;  // Evicted meanwhile.
    case Contender::kPlan: break;
  }
  return run_planned(plan, call, sized);
}

void TieredGraph::after_verdict(const Ref<const InstalledPlan>& plan, const SizedPlan& sized) {
  const std::optional<PlanTrial::Result> result = PlanTrial::result(sized);
  if (!result || !plan->trial.is_offered(Contender::kTier0)) return;
  push_job(
      [plan, result = *result](TieredGraph& graph, const std::atomic<bool>& cancelled) {
        if (cancelled.load()) return;
        graph.try_cost_.fetch_add(result.lost_time);
        graph.log(fmt::format("plan {}: {}", plan->serial, plan->trial.to_string()));
        // What lost against its rival goes first, so that the next variant meets the better one.
        Ref<const InstalledPlan> best = plan;
        const Ref<const InstalledPlan> former = graph.table_.with_serial(plan->former);
        if (former && plan->trial.always_won(Contender::kFormer)) {
          graph.table_.remove(plan.get());
          best = former;
        } else if (former && result.winner != Contender::kFormer) {
          graph.table_.remove(former.get());
        }
        const std::optional<PlanVariant> next = variant_after(*plan, result.winner);
        if (next && is_clear_loss(result)) return graph.try_variant(best, *next);
        if (next && !is_clear_gain(result)) best->later.put_off(*next, time_to_earn(*best, result));
        if (!next || result.winner != Contender::kTier0) graph.withdraw_loser(*best, result);
      },
      JobWeight::kLight);
}

// Makes the variant from the same profile and puts it before the best plan so far, to be tried; in
// its place where tier 0 is faster for all sizes seen, since the rival is tier 0 then.
void TieredGraph::try_variant(const Ref<const InstalledPlan>& best, PlanVariant variant) {
  SpecializeRequest request = request_for(*best->profile, best->policy);
  request.is_static = best->is_static;
  request.variant = variant;
  uint64_t generation = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    generation = generation_;
  }
  push_job([request = std::move(request), best, generation](TieredGraph& graph,
                                                            const std::atomic<bool>& cancelled) {
    graph.delay_compilation(cancelled);
    const Ref<InstalledPlan> plan = specialize(request, graph.options_, cancelled);
    const std::lock_guard<std::mutex> lock(graph.mutex_);
    if (!plan || cancelled.load() || generation != graph.generation_) return;
    if (!plan->guard.weights_hold() || !graph.table_.with_serial(best->serial)) return;
    plan->former = best->serial;
    const bool is_beaten = best->trial.always_won(Contender::kTier0);
    if (!is_beaten) plan->trial.offer(Contender::kFormer);
    graph.install(plan);
    if (is_beaten) graph.table_.remove(best.get());
  });
}

void TieredGraph::after_look(const Ref<const InstalledPlan>& plan, Contender contender) {
  if (contender == Contender::kTier0) give_back_sources(plan);
  const std::optional<PlanVariant> variant = plan->later.take(LaterVariant::Clock::now());
  if (!variant) return;
  push_job(
      [plan, variant = *variant](TieredGraph& graph, const std::atomic<bool>& cancelled) {
        if (!cancelled.load()) graph.try_variant(plan, variant);
      },
      JobWeight::kLight);
}

void TieredGraph::give_back_sources(const Ref<const InstalledPlan>& plan) {
  if (plan->holders.empty() || !kernels::has_left_pages()) return;
  push_job(
      [plan](TieredGraph&, const std::atomic<bool>& cancelled) {
        if (!cancelled.load() && !plan->trial.always_won(Contender::kTier0))
          plan->give_back_sources();
      },
      JobWeight::kLight);
}

void TieredGraph::withdraw_loser(const InstalledPlan& plan, const PlanTrial::Result& result) {
  if (!plan.trial.always_won(Contender::kTier0)) {
    if (result.winner == Contender::kTier0) return;
    // Tier 0 read the weights for its turns, and has no more for long.
    plan.give_back_sources();
    lost_trials_.store(0);
    try_cost_.store(0);
    return;
  }
  const std::string trial = plan.trial.to_string();
  const double cost = static_cast<double>(try_cost_.exchange(0)) / kRetryShare;
  const double calls = std::min(cost / std::max(median_of(result, Contender::kTier0), 1.0), 1e12);
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t losses = std::min(lost_trials_.fetch_add(1), 20U);
  misses_to_skip_.store(static_cast<uint64_t>(calls) << losses);
  table_.remove(&plan);
  if (table_.empty()) {
    reason_ = Reason::kNotFaster;
    detail_ = trial;
  }
  log(fmt::format("plan {} withdrawn: tier 0 is faster", plan.serial));
}

void TieredGraph::withdraw(PlanTable& table, Ref<const InstalledPlan> plan) {
  if (plan->is_withdrawn.exchange(true, std::memory_order_relaxed)) return;
  push_or_run(
      [&table, plan = std::move(plan)](TieredGraph& graph, const std::atomic<bool>&) {
        table.remove(plan.get());
        {
          const std::lock_guard<std::mutex> lock(graph.mutex_);
          ++graph.invalidations_;
          graph.log("a weight was written: its plan is withdrawn");
        }
        if (graph.options_.compile != CompileMode::kBlocking) graph.keep_while_used(plan);
      },
      JobWeight::kLight);
}

void TieredGraph::keep_while_used(Ref<const InstalledPlan> plan) {
  constexpr std::chrono::milliseconds kNap{20};
  // The other one is the job's that asks.
  if (plan->use_count() <= 2) return;
  push_job(
      [plan = std::move(plan)](TieredGraph& graph, const std::atomic<bool>& cancelled) {
        if (!cancelled.load()) graph.keep_while_used(plan);
      },
      JobWeight::kLight, kNap);
}

bool TieredGraph::has_open_trials() const {
  const std::vector<Ref<const InstalledPlan>> plans = table_.plans();
  return std::any_of(plans.begin(), plans.end(),
                     [](const auto& plan) { return plan->trial.is_open(); });
}

}  // namespace tierup::tier
