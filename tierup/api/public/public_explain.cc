// v1::Module's explanation: the tiers' report as public values.
#include "tierup/api/public/facade.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/ir/text.h"

namespace tierup::v1 {

static_assert(static_cast<int>(GraphState::kNotFaster) ==
              static_cast<int>(tier::Reason::kNotFaster));
static_assert(static_cast<int>(MissReason::kPolicy) ==
              static_cast<int>(runtime::GuardOutcome::kPolicy));
static_assert(static_cast<int>(MissReason::kWeightsChanged) ==
              static_cast<int>(runtime::GuardOutcome::kWeightsChanged));
static_assert(static_cast<size_t>(MissReason::kWeightsChanged) + 1 == runtime::kGuardOutcomeCount);
static_assert(static_cast<int>(MemoryOrder::kStrided) ==
              static_cast<int>(profile::MemoryOrder::kStrided));

namespace {

std::optional<DType> public_dtype(const std::optional<ScalarType>& dtype) {
  if (!dtype) return std::nullopt;
  return static_cast<DType>(*dtype);
}

std::optional<MemoryOrder> public_order(const std::optional<profile::MemoryOrder>& order) {
  if (!order) return std::nullopt;
  return static_cast<MemoryOrder>(*order);
}

std::string name_of(const tier::GraphReport& graph, size_t argument) {
  return argument < graph.arguments.size() ? graph.arguments[argument] : std::string();
}

PlanGuard guard_info(const tier::PlanReport& plan, const tier::GraphReport& graph) {
  PlanGuard result;
  result.grad_mode = plan.policy.grad_mode;
  result.inference_mode = plan.policy.inference_mode;
  result.deterministic = plan.policy.deterministic;
  result.observed = plan.observed;
  result.text = plan.guard;
  for (const runtime::ArgumentGuard& guard : plan.arguments) {
    result.arguments.push_back({name_of(graph, guard.argument), guard.is_tensor, guard.truth,
                                public_dtype(guard.dtype), guard.rank, public_order(guard.order),
                                guard.requires_grad, guard.sizes});
  }
  return result;
}

const char* kind_name(profile::ValueProfile::Kind kind) {
  using Kind = profile::ValueProfile::Kind;
  switch (kind) {
    case Kind::kUnseen: return "unseen";
    case Kind::kTensor: return "tensor";
    case Kind::kNone: return "none";
    case Kind::kOther: return "other";
    case Kind::kMixed: return "mixed";
  }
  return "unseen";
}

ArgumentProfile argument_profile(const profile::GraphProfile& profile, size_t index) {
  const profile::ValueProfile& seen = profile.arguments()[index];
  ArgumentProfile result;
  result.kind = kind_name(seen.kind);
  result.truth = seen.truth;
  result.dtype = public_dtype(seen.dtype);
  result.rank = seen.rank;
  result.order = public_order(seen.order);
  result.requires_grad = seen.requires_grad;
  for (const Dim& dim : profile.symbols_of(index)) {
    ArgumentProfile::Size& size = result.sizes.emplace_back();
    if (dim.kind == Dim::Kind::kStatic) size.value = dim.value;
    if (dim.kind == Dim::Kind::kSymbol) size.symbol = static_cast<uint64_t>(dim.value);
  }
  return result;
}

// Without the module itself, the first argument.
ProfileInfo profile_info(const profile::GraphProfile& profile, const tier::GraphReport& graph) {
  ProfileInfo result;
  result.runs = profile.run_count();
  result.text = profile.to_string();
  for (size_t i = 1; i < profile.arguments().size(); ++i) {
    result.arguments.push_back(argument_profile(profile, i));
    result.arguments.back().name = name_of(graph, i);
  }
  return result;
}

FusedRegion region_info(const tier::RegionReport& region) {
  FusedRegion result;
  result.kind = region.kind == tier::RegionReport::Kind::kNet ? FusedRegion::Kind::kNet
                                                              : FusedRegion::Kind::kFusionGroup;
  result.operators = region.operators;
  result.text = region.text;
  result.compiled = region.compiled;
  result.twin_calls = region.twin_calls;
  result.held_bytes = region.held_bytes;
  result.notes = region.notes;
  result.place = region.place;
  return result;
}

ArenaInfo arena_info(const tier::MemoryReport& memory) {
  ArenaInfo result;
  result.tensors = memory.blocks;
  result.arena_bytes = memory.arena_bytes;
  result.lower_bound_bytes = memory.lower_bound;
  result.total_bytes = memory.total_bytes;
  for (const tier::BlockReport& block : memory.layout) {
    result.blocks.push_back({block.offset, block.bytes, block.begin, block.end});
  }
  return result;
}

PlanInfo plan_info(const tier::PlanReport& plan, const tier::GraphReport& graph) {
  PlanInfo result;
  result.serial = plan.serial;
  result.is_static = plan.is_static;
  result.compile_ms = plan.compile_ms;
  result.hits = plan.hits;
  result.held_bytes = plan.held_bytes;
  result.guard = guard_info(plan, graph);
  if (plan.profile) result.profile = profile_info(*plan.profile, graph);
  for (const tier::StepReport& step : plan.steps) {
    result.steps.push_back({step.name, step.milliseconds, step.counters, step.notes});
  }
  for (const tier::RegionReport& region : plan.regions) {
    result.regions.push_back(region_info(region));
  }
  for (const tier::LeftOperator& left : plan.left) {
    result.unfused.push_back({left.name, left.reason, left.place});
  }
  for (const tier::RefusalReport& refusal : plan.refusals) {
    result.refusals.push_back({refusal.region, refusal.reason, refusal.text, refusal.operation,
                               refusal.place, refusal.count});
  }
  result.trial = plan.trial;
  result.notes = plan.notes;
  for (const tier::MemoryReport& memory : plan.memory) result.memory.push_back(arena_info(memory));
  result.graph_text = plan.graph;
  result.plan_text = plan.steps_text;
  return result;
}

GraphInfo graph_info(const tier::GraphReport& graph) {
  GraphInfo result;
  result.name = graph.name;
  result.method = graph.name.substr(graph.name.rfind('.') + 1);
  result.calls = graph.calls;
  result.tier0_calls = graph.tier0_calls;
  result.checked_calls = graph.checked_calls;
  result.plans_made = graph.plans_made;
  result.budget_left = graph.budget_left;
  result.evictions = graph.evictions;
  result.invalidations = graph.invalidations;
  result.failed_jobs = graph.failed_jobs;
  result.state = static_cast<GraphState>(graph.reason);
  result.detail = graph.detail;
  for (size_t i = 1; i < graph.guard_failures.size(); ++i) {
    if (graph.guard_failures[i] == 0) continue;
    result.misses.push_back({static_cast<MissReason>(i), graph.guard_failures[i]});
  }
  result.profile_text = graph.profile;
  for (const tier::PlanReport& plan : graph.plans) result.plans.push_back(plan_info(plan, graph));
  return result;
}

// As long a wait as clocks can add to now.
constexpr std::chrono::hours kLongestWait{24 * 365};

}  // namespace

std::string_view state_text(GraphState state) {
  return tier::reason_text(static_cast<tier::Reason>(state));
}

std::string_view miss_text(MissReason reason) {
  return runtime::guard_outcome_text(static_cast<runtime::GuardOutcome>(reason));
}

Explanation Module::explain() const {
  return guarded([&] {
    const tier::TierReport report = impl_->model->tiers().report();
    Explanation result;
    result.options = report.options;
    for (const tier::GraphReport& graph : report.graphs) result.graphs.push_back(graph_info(graph));
    return result;
  });
}

void Module::flush() const {
  guarded([&] { impl_->model->tiers().flush(); });
}

bool Module::wait_for_compilation(std::optional<std::chrono::milliseconds> timeout) const {
  return guarded([&] {
    if (!timeout || *timeout > kLongestWait) return impl_->model->tiers().wait_for_jobs();
    return impl_->model->tiers().wait_for_jobs(*timeout);
  });
}

bool Module::is_settled() const {
  return guarded([&] {
    tier::TieredProgram& tiers = impl_->model->tiers();
    return tiers.wait_for_jobs(std::chrono::milliseconds(0)) && !tiers.has_open_trials();
  });
}

std::string Module::graph_text(const std::string& method) const {
  return guarded([&] { return ir::print_graph(*impl_->model->method(method).graph()); });
}

std::string Module::plan_text(const std::string& method) const {
  return guarded([&] {
    const api::Model& model = *impl_->model;
    return model.program().plan_of(model.method(method)).to_string();
  });
}

}  // namespace tierup::v1
