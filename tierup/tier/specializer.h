// Specializer: from a function, a module and a profile to a guarded plan. Runs in compile jobs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/ir/function.h"
#include "tierup/passes/core/pass.h"
#include "tierup/profile/graph_profile.h"
#include "tierup/tier/plan_table.h"
#include "tierup/tier/sample_call.h"
#include "tierup/tier/tiering_options.h"

namespace tierup::tier {

struct SpecializeRequest {
  const ir::Function* function = nullptr;
  std::shared_ptr<const ir::Graph> graph;  // Of tier 0, calls inlined.
  Ref<ObjectValue> self;                   // Null for a free function: nothing is frozen.
  profile::GraphProfile profile;
  ops::Policy policy;
  bool is_static = false;
  PlanVariant variant = PlanVariant::kFull;
  int threads = 0;  // That the callers' operators may use.
  // What the last profiled call took, if one of the same sizes came before it or it was long.
  struct Call {
    SizedPlans::Signature signature = 0;
    std::chrono::nanoseconds took{0};
    bool came_twice = false;
  };
  std::optional<Call> call;
  // A call that tier 0 answered; null: nets are compared with tier 0 as they are compiled.
  std::shared_ptr<const SampleCall> sample;
  // The same plan over other weights, if there is one: what was compared there, or told by turns,
  // is not again.
  const InstalledPlan* older = nullptr;
  Ref<ObjectValue> older_self;  // And the module that has these.
};

// Throws what a pass throws; returns null if `cancelled` turned true on the way. The caller keeps
// the plan's serial and installs it, once its unconfirmed nets are confirmed.
Ref<InstalledPlan> specialize(const SpecializeRequest& request, const TieringOptions& options,
                              const std::atomic<bool>& cancelled);
// A plan as yet without steps, with what the request says of it.
Ref<InstalledPlan> start_plan(const SpecializeRequest& request, const TieringOptions& options);
// Notes which constants of the graph, and of its forks' bodies, keep memory or are compiled steps.
void find_holders(const ir::Block& block, InstalledPlan& plan);
// Tier 0's graph with branches at the same time; null if none is worth it by the profile's times.
std::unique_ptr<const runtime::Plan> fork_plan(const ir::Graph& graph,
                                               const profile::GraphProfile& profile,
                                               const TieringOptions& options);

// Whether plans take turns with tier 0 before they serve.
inline bool tries_plans(const TieringOptions& options) {
  return options.plan_trial && options.compile == CompileMode::kBackground &&
         options.policy == Policy::kAdaptive;
}
// What options say of passes.
passes::PassOptions pass_options_of(const TieringOptions& options);
// Runs passes and adds what they did to `steps`.
void run_noted(ir::Graph& graph, std::span<const passes::Pass> passes,
               const passes::PassOptions& options, std::vector<StepReport>& steps);
// Last of all: what is left of point-wise operators and small products becomes groups with compiled
// kernels. Stops early once `cancelled`.
void fuse_groups(ir::Graph& graph, const TieringOptions& options,
                 const passes::PassOptions& pass_options, const std::atomic<bool>& cancelled,
                 std::vector<StepReport>& steps);

}  // namespace tierup::tier
