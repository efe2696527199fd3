// What a TieredGraph says of itself: plans, guards, hits, memory plans and reasons.
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {
namespace {

std::vector<MemoryReport> memory_report(const InstalledPlan& plan) {
  std::vector<MemoryReport> reports;
  for (const runtime::MemoryPlan* memory : plan.memory.all()) {
    MemoryReport& report = reports.emplace_back();
    report.arena_bytes = memory->arena_bytes();
    report.lower_bound = memory->lower_bound();
    for (size_t i = 0; i < memory->blocks().size(); ++i) {
      const runtime::MemoryPlan::Block& block = memory->blocks()[i];
      if (block.escapes) continue;
      ++report.blocks;
      report.total_bytes += block.bytes;
      const runtime::BlockLife& life = memory->lives()[i];
      report.layout.push_back({block.offset, block.bytes, life.begin, life.end});
    }
  }
  return reports;
}

}  // namespace

GraphReport TieredGraph::report() const {
  GraphReport report;
  report.name = slot_.function().name();
  report.calls = calls_.load();
  report.tier0_calls = tier0_calls_.load();
  report.checked_calls = checked_calls_.load();
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
    report.profile = profile_ ? profile_->to_string() : profile_text_;
  }
  for (const Ref<const InstalledPlan>& plan : table_.plans()) {
    report.plans.push_back({plan->serial, plan->is_static, plan->compile_ms, plan->hits.load(),
                            plan->held_bytes(), plan->guard.to_string(), plan->notes,
                            plan->plan->graph().to_string(), memory_report(*plan)});
    const std::string trial = plan->trial.to_string();
    if (!trial.empty()) report.plans.back().notes.push_back(trial);
  }
  if (report.detail.empty()) report.detail = tier0_branches_.to_string();
  return report;
}

}  // namespace tierup::tier
