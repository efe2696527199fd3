// Memory of plans' calls: each set of sizes has its arena, laid out after a recorded call, and what
// runs keep for the next ones goes when no call comes for a while.
#include <memory>
#include <utility>
#include <vector>

#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {

size_t TieredGraph::trim_frames() const {
  size_t freed = tier0_branches_.trim_frames();
  for (const Ref<const InstalledPlan>& plan : plans())
    freed += plan->plan->trim_frames() + plan->trial.trim_frames();
  return freed;
}

size_t TieredGraph::kept_frames() const {
  size_t kept = tier0_branches_.kept_frames();
  for (const Ref<const InstalledPlan>& plan : plans())
    kept += plan->plan->kept_frames() + plan->trial.kept_frames();
  return kept;
}

IValue TieredGraph::run_planned(const Ref<const InstalledPlan>& plan, const Call& call,
                                SizedPlan* sized) {
  const auto run = [&] {
    return program_.run_single(*plan->plan, call.args, call.context, call.state);
  };
  if (!options_.memory_plan || sized == nullptr) return run();
  if (runtime::MemoryPlan* memory = sized->memory()) {
    const runtime::ArenaScope scope(*memory, options_.poison);
    return run();
  }
  if (!plan->sized.wants_recording(*sized)) return run();
  IValue result;
  std::vector<runtime::BlockLife> lives;
  try {
    const runtime::RecordingScope scope;
    result = run();
    lives = scope.lives();
  } catch (...) {
    plan->sized.give_up_recording();
    throw;
  }
  guarded([&] { plan_memory(plan, sized, std::move(lives)); });
  return result;
}

void TieredGraph::plan_memory(const Ref<const InstalledPlan>& plan, SizedPlan* sized,
                              std::vector<runtime::BlockLife> lives) {
  push_or_run(
      [plan, sized, lives = std::move(lives)](TieredGraph&, const std::atomic<bool>&) {
        plan->sized.add_memory(*sized, std::make_unique<runtime::MemoryPlan>(lives));
      },
      JobWeight::kLight);
  if (options_.compile != CompileMode::kBlocking && !trim_pending_.exchange(true))
    trim_when_idle(calls_.load());
}

void TieredGraph::trim_when_idle(uint64_t calls_before) {
  const auto trim = [calls_before](TieredGraph& graph, const std::atomic<bool>& cancelled) {
    if (cancelled.load()) return;
    const uint64_t calls = graph.calls_.load();
    if (calls == calls_before) {
      for (const Ref<const InstalledPlan>& plan : graph.plans()) plan->sized.trim();
    }
    graph.trim_when_idle(calls);
  };
  push_job(trim, JobWeight::kLight, std::chrono::milliseconds(options_.release_delay_ms));
}

}  // namespace tierup::tier
