// What a TieredGraph says of itself: plans, guards, hits, memory plans and reasons.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "tierup/tier/plan_regions.h"
#include "tierup/tier/tiered_graph.h"

namespace tierup::tier {
namespace {

std::vector<MemoryReport> memory_report(const InstalledPlan& plan) {
  std::vector<MemoryReport> reports;
  for (const SizedPlan* sized : plan.sized.entries()) {
    const runtime::MemoryPlan* memory = sized->memory();
    if (memory == nullptr) continue;
    const runtime::BlockLayout& layout = memory->layout();
    MemoryReport& report = reports.emplace_back();
    report.arena_bytes = layout.arena_bytes();
    report.lower_bound = layout.lower_bound();
    for (size_t i = 0; i < layout.blocks().size(); ++i) {
      const runtime::BlockLayout::Block& block = layout.blocks()[i];
      if (block.escapes) continue;
      ++report.blocks;
      report.total_bytes += block.bytes;
      const runtime::BlockLife& life = layout.lives()[i];
      report.layout.push_back({block.offset, block.bytes, life.begin, life.end});
    }
  }
  return reports;
}

void add(std::vector<RefusalReport>& refusals, const ops::RefusedOperator& refused) {
  RefusalReport report{refused.region, refused.reason, refused.text, refused.operation,
                       refused.range.highlight()};
  const auto known = std::find_if(refusals.begin(), refusals.end(), [&](const RefusalReport& one) {
    return std::tie(one.region, one.text, one.operation, one.place) ==
           std::tie(report.region, report.text, report.operation, report.place);
  });
  if (known != refusals.end()) {
    ++known->count;
  } else {
    refusals.push_back(std::move(report));
  }
}

PlanReport plan_report(const InstalledPlan& plan) {
  PlanReport report;
  report.serial = plan.serial;
  report.is_static = plan.is_static;
  report.compile_ms = plan.compile_ms;
  report.hits = plan.hits.load();
  report.held_bytes = plan.held_bytes();
  report.guard = plan.guard.to_string();
  report.graph = plan.plan->graph().to_string();
  report.steps_text = plan.plan->to_string();
  report.memory = memory_report(plan);
  report.policy = plan.policy;
  report.arguments = plan.guard.arguments();
  report.observed = plan.guard.observed_count();
  report.steps = plan.steps;
  report.trial = plan.trial.to_string();
  report.profile = plan.profile;
  for (const StepReport& step : plan.steps) {
    report.notes.push_back(step.to_string());
    report.notes.insert(report.notes.end(), step.notes.begin(), step.notes.end());
  }
  find_regions(plan.plan->graph(), report.regions, report.left);
  for (const StepReport& step : plan.steps) {
    for (const ops::RefusedOperator& refused : step.refused) add(report.refusals, refused);
  }
  for (const RegionReport& region : report.regions) {
    for (const ops::RefusedOperator& refused : region.refused) add(report.refusals, refused);
  }
  for (const RefusalReport& refusal : report.refusals) report.notes.push_back(refusal.to_string());
  if (!report.trial.empty()) report.notes.push_back(report.trial);
  return report;
}

}  // namespace

std::string_view reason_text(Reason reason) {
  switch (reason) {
    case Reason::kNone: return "a specialised plan stands";
    case Reason::kCompileOff: return "compilation is off";
    case Reason::kProfiling: return "still being profiled";
    case Reason::kJobQueued: return "a compile job waits or runs";
    case Reason::kBudgetSpent: return "the specialisation budget is spent: pinned to tier 0";
    case Reason::kCompileFailed: return "compilation failed: pinned to tier 0";
    case Reason::kNotFaster: return "tier 0 was faster than the plan";
    case Reason::kMismatch: return "tier 1 differed from tier 0: demoted";
  }
  return "unknown";
}

std::string StepReport::to_string() const {
  std::string line = fmt::format("{} ({:.2f} ms)", name, milliseconds);
  for (const auto& [counter, amount] : counters) line += fmt::format(" {}={}", counter, amount);
  return line;
}

std::string RefusalReport::to_string() const {
  std::string line = operation;
  if (!place.empty()) line += " (" + place.substr(0, place.find('\n')) + ")";
  line += " in no " + region;
  if (count > 1) line += fmt::format(", {} times", count);
  return line + ": " + text;
}

GraphReport TieredGraph::report() const {
  GraphReport report;
  report.name = slot_.function().name();
  for (const ir::Argument& argument : slot_.function().schema().arguments)
    report.arguments.push_back(argument.name);
  report.calls = calls_.load();
  report.tier0_calls = tier0_calls_.load();
  report.checked_calls = checked_calls_.load();
  report.failed_jobs = failed_jobs_.load();
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
  std::vector<Ref<const InstalledPlan>> plans = table_.plans();
  const std::vector<Ref<const InstalledPlan>> recorded = recorded_.table().plans();
  plans.insert(plans.end(), recorded.begin(), recorded.end());
  for (const Ref<const InstalledPlan>& plan : plans) {
    report.plans.push_back(plan_report(*plan));
    PlanReport& last = report.plans.back();
    for (const ops::HasTwin* step : plan->compiled_steps) {
      last.compiled_steps.push_back(step->step_report());
      const std::string note = ops::twin_note(last.compiled_steps.back());
      if (!note.empty()) last.notes.push_back(note);
    }
  }
  if (report.detail.empty()) report.detail = tier0_branches_.to_string();
  return report;
}

}  // namespace tierup::tier
