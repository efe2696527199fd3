// Explanation: how each graph of a module runs, and why so: plain values, read at one moment.
//
//   for (const auto& graph : module.explain().graphs)
//     std::cout << graph.name << ": " << state_text(graph.state) << "\n";
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tierup/export.h"
#include "tierup/tensor.h"

namespace tierup::v1 {

// What a graph is waiting for, or why it stays at tier 0.
enum class GraphState : unsigned char {
  kSpecialized,    // A specialised plan stands.
  kCompileOff,     // Options: compile=off.
  kProfiling,      // Fewer runs than profiled_runs so far.
  kJobQueued,      // A compile job waits or runs.
  kBudgetSpent,    // Calls that no plan covers run at tier 0 from now on.
  kCompileFailed,  // The detail has the message; tier 0 from now on.
  kDemoted,        // verify_rate found other results than tier 0's.
  kNotFaster,      // Measured in turns, tier 0 was faster than the plan; tried again much later.
};
// One phrase.
TIERUP_API std::string_view state_text(GraphState state);

// Why a guard did not hold.
enum class MissReason : unsigned char {
  kPolicy = 1,    // Grad mode or another mode.
  kArgumentKind,  // A tensor where none was, or the reverse; another bool.
  kDtype,
  kRank,
  kOrder,  // The order of elements in memory.
  kSizes,
  kRequiresGrad,
  kWeightsChanged,  // A weight or attribute was written: the plan is withdrawn.
};
TIERUP_API std::string_view miss_text(MissReason reason);

struct MissCount {
  MissReason reason;
  uint64_t count;
};

enum class MemoryOrder : unsigned char { kContiguous, kChannelsLast, kStrided };

// What a plan assumes of one argument of the method, checked in each call; absent: not checked.
struct ArgumentGuard {
  std::string name;
  bool is_tensor = true;
  std::optional<bool> truth;  // Of a bool.
  std::optional<DType> dtype;
  std::optional<uint64_t> rank;
  std::optional<MemoryOrder> order;
  std::optional<bool> requires_grad;
  std::vector<std::optional<int64_t>> sizes;  // By dimension; empty: any sizes.
};

struct PlanGuard {
  bool grad_mode = false;
  bool inference_mode = false;
  bool deterministic = false;
  std::vector<ArgumentGuard> arguments;
  uint64_t observed = 0;  // Weights and objects that must not have been written.
  std::string text;       // One line each.
};

// An argument as profiled runs saw it. A size that never varied has a value; sizes that were equal
// in every run share a symbol.
struct ArgumentProfile {
  struct Size {
    std::optional<int64_t> value;
    std::optional<uint64_t> symbol;
  };
  std::string name;
  std::string kind;  // "tensor", "none", "other", "mixed", "unseen".
  std::optional<bool> truth;
  std::optional<DType> dtype;
  std::optional<uint64_t> rank;
  std::optional<MemoryOrder> order;
  std::optional<bool> requires_grad;
  std::vector<Size> sizes;
};

struct ProfileInfo {
  uint32_t runs = 0;
  std::vector<ArgumentProfile> arguments;
  std::string text;  // With values, branches and loops inside the graph.
};

// A pass over the graph, or the compilation of its kernels.
struct PlanStep {
  std::string name;
  double milliseconds = 0;
  std::vector<std::pair<std::string, int64_t>> counters;
  std::vector<std::string> notes;  // What was chosen or refused, and why.
};

// Several operators that run as one step.
struct FusedRegion {
  enum class Kind : unsigned char { kFusionGroup, kNet };
  Kind kind = Kind::kFusionGroup;
  std::vector<std::string> operators;  // "aten::add.Tensor".
  std::string text;                    // Of a group: its outputs as expressions of its inputs.
  uint64_t compiled = 0;               // Kernels of a group; nets for different sizes.
  uint64_t twin_calls = 0;             // Calls that the operators answered one by one instead.
  uint64_t held_bytes = 0;             // Packed weights and arenas.
  std::vector<std::string> notes;      // What was chosen, or why nothing was compiled.
  std::string place;                   // The model's own line.
};

// An operator that could have been fused and was not.
struct UnfusedOperator {
  std::string name;
  std::string reason;
  std::string place;
};

// Operators that stand in no region of a kind, or in one that was not compiled, and why: equal ones
// of one line of the model together.
struct RegionRefusal {
  std::string region;     // "group" or "net"; "part" of a program that records gradients.
  std::string reason;     // A name that stays: "unknown_sizes".
  std::string text;       // One sentence.
  std::string operation;  // "aten::mm", or the operators of a region.
  std::string place;      // The model's own line; empty if it is not known.
  uint64_t count = 1;
};

// A tensor's place in an arena; times count allocations and releases.
struct ArenaBlock {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};
// The memory of intermediate tensors, for one set of argument sizes.
struct ArenaInfo {
  uint64_t tensors = 0;
  uint64_t arena_bytes = 0;
  uint64_t lower_bound_bytes = 0;  // The most that is alive at once.
  uint64_t total_bytes = 0;        // What the tensors would take side by side.
  std::vector<ArenaBlock> blocks;
};

struct PlanInfo {
  uint32_t serial = 0;     // 1 for the graph's first.
  bool is_static = false;  // For exactly the sizes of its guard.
  double compile_ms = 0;
  uint64_t hits = 0;
  uint64_t held_bytes = 0;  // Packed weights, and memory kept for the next calls.
  PlanGuard guard;
  ProfileInfo profile;  // What it was made from.
  std::vector<PlanStep> steps;
  std::vector<FusedRegion> regions;
  std::vector<UnfusedOperator> unfused;
  std::vector<RegionRefusal> refusals;
  std::string trial;  // What calls showed of it against tier 0 and others; empty without a trial.
  std::vector<std::string> notes;  // Steps and trial as lines for people.
  std::vector<ArenaInfo> memory;
  std::string graph_text;  // The specialised graph.
  std::string plan_text;   // The steps that it was lowered to.
};

struct GraphInfo {
  std::string name;    // Qualified: "__torch__.M.forward".
  std::string method;  // "forward".
  uint64_t calls = 0;
  uint64_t tier0_calls = 0;
  uint64_t checked_calls = 0;  // Compared with tier 0, by verify_rate.
  uint32_t plans_made = 0;
  uint32_t budget_left = 0;  // Plans that may still be made.
  uint32_t evictions = 0;
  uint32_t invalidations = 0;  // Plans withdrawn after a write to a weight.
  uint32_t failed_jobs = 0;    // Compile jobs that failed; calls went on at the tier there was.
  GraphState state = GraphState::kProfiling;
  std::string detail;
  std::vector<MissCount> misses;  // Calls that no plan covered, while there were plans.
  std::string profile_text;       // Of the runs since the last plan, or of the newest plan.
  std::vector<PlanInfo> plans;
};

struct Explanation {
  std::string options;            // The tiering options in force.
  std::vector<GraphInfo> graphs;  // Of methods that were called.
};

}  // namespace tierup::v1
