#include "tierup/tier/tiered_program.h"

#include "tierup/base/error.h"

namespace tierup::tier {

TieredProgram::TieredProgram(runtime::Program& program, TieringOptions options)
    : program_(program),
      options_(std::move(options)),
      queue_(options_.compile_threads, options_.compile_cpu_share) {}

TieredGraph& TieredProgram::graph_of(const ir::Function& function, std::span<const IValue> args) {
  const bool is_method = !args.empty() && args[0].is_object();
  const Key key{&function, is_method ? &args[0].to_object() : nullptr};
  {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = graphs_.find(key);
    if (found != graphs_.end()) return *found->second;
  }
  // The graph that tier 0 runs, calls inlined: plan_of has prepared it.
  const std::shared_ptr<const ir::Graph> graph = program_.plan_of(function).shared_graph();
  const Ref<ObjectValue> self = is_method ? args[0].object_ref() : nullptr;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  auto& entry = graphs_[key];
  if (!entry) entry = std::make_shared<TieredGraph>(function, graph, self, options_);
  return *entry;
}

IValue TieredProgram::run(runtime::Program::PlanSlot& slot, std::span<IValue> args,
                          ops::RunContext& context, const Ref<const runtime::RunState>& state) {
  if (options_.compile == CompileMode::kOff) return program_.run(slot, args, context, state);
  TieredGraph& graph = graph_of(slot.function(), args);
  const Ref<const InstalledPlan> plan = graph.plan_for(args, context.policy, queue_);
  if (!plan) return program_.run(slot, args, context, state);
  return std::move(program_.run_plan(*plan->plan, args, context, state)[0]);
}

void TieredProgram::flush() {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const auto& [key, graph] : graphs_) {
    queue_.cancel(graph.get());
    graph->flush();
  }
}

TierReport TieredProgram::report() const {
  TierReport report;
  report.options = options_.to_string();
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const auto& [key, graph] : graphs_) report.graphs.push_back(graph->report());
  return report;
}

size_t TieredProgram::trim_frames() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  size_t freed = 0;
  for (const auto& [key, graph] : graphs_) {
    for (const Ref<const InstalledPlan>& plan : graph->plans()) freed += plan->plan->trim_frames();
  }
  return freed;
}

size_t TieredProgram::kept_frames() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  size_t kept = 0;
  for (const auto& [key, graph] : graphs_) {
    for (const Ref<const InstalledPlan>& plan : graph->plans()) kept += plan->plan->kept_frames();
  }
  return kept;
}

}  // namespace tierup::tier
