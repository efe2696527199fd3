#include "tierup/tier/recorded_plan.h"

#include <algorithm>
#include <chrono>

#include "tierup/passes/core/pass_runner.h"
#include "tierup/passes/pipeline.h"
#include "tierup/passes/specialize/differentiable_graphs.h"
#include "tierup/passes/specialize/freeze_attributes.h"
#include "tierup/runtime/lower.h"
#include "tierup/tier/differentiable_graph.h"

namespace tierup::tier {
namespace {

using passes::Pass;
using passes::PassContext;

std::vector<Pass> recorded_passes(const SpecializeRequest& request, InstalledPlan& installed,
                                  const std::shared_ptr<const TieringOptions>& options) {
  std::vector<Pass> passes;
  if (request.self) {
    passes::ConstantObserver observer;
    observer.attribute = [&installed](const Ref<ObjectValue>& object, size_t slot) {
      installed.guard.observe(object, slot);
    };
    observer.list = [&installed](const Ref<ListValue>& list) { installed.guard.observe(list); };
    observer.reads_tensors = true;
    passes.push_back({"freeze_attributes", [observer, self = request.self](PassContext& context) {
                        passes::freeze_attributes(context, self, observer);
                      }});
  }
  for (const char* name : {"constant_propagation", "canonicalize"})
    passes.push_back(*passes::find_pass(name));
  passes.push_back(passes::specialized_dead_code_elimination());
  passes.push_back({"differentiable_graphs", [&installed, options](PassContext& context) {
                      passes::differentiable_graphs(
                          context, [&](const std::shared_ptr<ir::Graph>& body) -> Ref<RefCounted> {
                            const Pass clean = passes::specialized_dead_code_elimination();
                            passes::run_passes(*body, {&clean, 1}, {});
                            auto step = make_ref<DifferentiableGraph>(body, options);
                            installed.compiled_steps.push_back(step.get());
                            return step;
                          });
                    }});
  passes.push_back(passes::specialized_dead_code_elimination());
  passes.push_back(*passes::find_pass("constant_pooling"));
  return passes;
}

}  // namespace

Ref<InstalledPlan> make_recorded_plan(const SpecializeRequest& request,
                                      const TieringOptions& options, std::string& why) {
  const auto begin = std::chrono::steady_clock::now();
  auto installed = make_ref<InstalledPlan>();
  installed->policy = request.policy;
  installed->guard =
      runtime::EntryGuard::from_profile(profile::GraphProfile(), false, request.policy);
  if (tries_plans(options)) installed->trial.offer(PlanTrial::Contender::kTier0);
  const std::shared_ptr<ir::Graph> graph = request.graph->clone();
  run_noted(*graph,
            recorded_passes(request, *installed, std::make_shared<const TieringOptions>(options)),
            pass_options_of(options), installed->steps);
  if (installed->compiled_steps.empty()) {
    why = "no part of the program can be differentiated as a whole";
    for (const StepReport& step : installed->steps) {
      for (const std::string& note : step.notes) why += "; " + note;
    }
    return nullptr;
  }
  installed->plan = runtime::lower(graph);
  installed->compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return installed;
}

}  // namespace tierup::tier
