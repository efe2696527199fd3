// What `explain`, counters and debug state tell of a tiered program: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tierup/ops/regions/refusal.h"
#include "tierup/ops/regions/twin_calls.h"
#include "tierup/runtime/entry_guard.h"

namespace tierup::tier {

// Why a graph stays at tier 0, or a plan was not made.
enum class Reason : uint8_t {
  kNone,
  kCompileOff,     // TieringOptions::compile is off.
  kProfiling,      // Fewer runs than profiled_runs so far.
  kJobQueued,      // A job waits or runs.
  kBudgetSpent,    // The re-specialisation budget is used up: pinned to the simple plan.
  kCompileFailed,  // The job threw: pinned; the detail has the message.
  kMismatch,       // Live checking found other results than tier 0: demoted.
  kNotFaster,      // By turns, tier 0 was faster than the plan; tried again much later.
};
std::string_view reason_text(Reason reason);

// A tensor's place in an arena; times count allocations and releases.
struct BlockReport {
  size_t offset;
  size_t bytes;
  uint32_t begin;
  uint32_t end;
};

// One arena layout of a plan, for one set of argument sizes.
struct MemoryReport {
  size_t blocks = 0;
  size_t arena_bytes = 0;
  size_t lower_bound = 0;  // The most bytes alive at once.
  size_t total_bytes = 0;  // Of all blocks: what they would take side by side.
  std::vector<BlockReport> layout;
};

// A pass over the graph, or the code generator: what it did to make a plan.
struct StepReport {
  std::string name;
  double milliseconds = 0;
  std::vector<std::pair<std::string, int64_t>> counters;
  std::vector<std::string> notes;
  std::vector<ops::RefusedOperator> refused;  // Operators that it left out of regions.

  // "freeze_attributes (0.12 ms) frozen=4".
  std::string to_string() const;
};

// Several operators that run as one step of a plan.
struct RegionReport {
  enum class Kind : uint8_t { kFusionGroup, kNet, kDifferentiable };
  Kind kind = Kind::kFusionGroup;
  std::vector<std::string> operators;
  std::string text;         // Of a group: its outputs as expressions of its inputs.
  size_t compiled = 0;      // Kernels of a group; nets that stand.
  uint64_t twin_calls = 0;  // Calls that its operators answered one by one instead.
  size_t held_bytes = 0;
  std::vector<std::string> notes;             // What was chosen, or why nothing was compiled.
  std::string place;                          // The model's own line of the first operator.
  std::vector<ops::RefusedOperator> refused;  // Why nothing was compiled, for whatever sizes.
};
// An operator that could have been fused and was not.
struct LeftOperator {
  std::string name;
  std::string reason;
  std::string place;
};

// Operators that were left out of a region, or that stand in one without compiled code: equal ones
// of one line of the model together.
struct RefusalReport {
  std::string region;     // "group", "net" or "part".
  std::string reason;     // "unknown_sizes": see ops/regions/refusal.h, kernels/net/net_refusal.h.
  std::string text;       // One sentence.
  std::string operation;  // "mm", or the operators of a region.
  std::string place;      // The model's own line, as SourceRange::highlight() shows it.
  uint64_t count = 1;

  // "mm (model.py:12) in no group, 3 times: its sizes are not known".
  std::string to_string() const;
};

struct PlanReport {
  uint32_t serial = 0;
  bool is_static = false;
  double compile_ms = 0;
  uint64_t hits = 0;
  size_t held_bytes = 0;  // Packed weights, and memory kept for the next calls.
  std::string guard;
  std::vector<std::string> notes;  // The steps and the trial, as lines.
  std::string graph;               // The specialised graph's text.
  std::string steps_text;          // The plan's.
  std::vector<MemoryReport> memory;
  // What `guard` tells.
  ops::Policy policy;
  std::vector<runtime::ArgumentGuard> arguments;
  size_t observed = 0;  // Weights and objects.
  std::vector<StepReport> steps;
  std::string trial;  // What calls showed of it against others; empty without.
  std::vector<RegionReport> regions;
  std::vector<LeftOperator> left;
  std::vector<RefusalReport> refusals;
  std::shared_ptr<const profile::GraphProfile> profile;  // What it was made from.
  std::vector<ops::StepReport> compiled_steps;           // Nets and fusion groups.
};

struct GraphReport {
  std::string name;
  std::vector<std::string> arguments;  // Names; guards and profiles count them.
  uint64_t calls = 0;
  uint64_t tier0_calls = 0;
  uint64_t checked_calls = 0;  // Compared with tier 0, by verify_rate.
  uint32_t plans_made = 0;
  uint32_t budget_left = 0;
  uint32_t evictions = 0;
  uint32_t invalidations = 0;
  uint32_t failed_jobs = 0;  // Compilations and what belongs to them, ended by a failure.
  Reason reason = Reason::kNone;
  std::string detail;
  std::array<uint64_t, runtime::kGuardOutcomeCount> guard_failures{};
  std::string profile;
  std::vector<PlanReport> plans;
};

struct TierReport {
  std::string options;
  std::vector<GraphReport> graphs;
};

}  // namespace tierup::tier
