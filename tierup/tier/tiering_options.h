// TieringOptions: how a module tiers up. A value owned by the module; nothing here is global.
//
// Names follow the profiling executor of TorchScript where it has one (profiled runs, fusion
// strategy, static and dynamic). Text form: "policy=adaptive,compile=background,profiled_runs=2".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tierup::passes {
struct PassRegistry;
}

namespace tierup::tier {

enum class Policy : uint8_t {
  kAdaptive,   // Dynamic first; a miss widens or adds a plan within the budget, with back-off.
  kReference,  // By the fusion strategy: so many static specialisations, then so many dynamic ones.
};
enum class CompileMode : uint8_t { kBackground, kBlocking, kOff };

struct TieringOptions {
  Policy policy = Policy::kAdaptive;
  CompileMode compile = CompileMode::kBackground;
  // Runs at tier 0 before the first specialisation; in the background a long last one counts twice.
  uint32_t profiled_runs = 2;
  // (is static, how many), in order. Its sum is the re-specialisation budget of a graph.
  std::vector<std::pair<bool, uint32_t>> fusion_strategy = {{true, 2}, {false, 10}};
  uint32_t max_plans = 12;  // Of one graph at a time; the least used one is evicted.
  // Of one graph's plans: what they packed, and the memory they keep for the next calls. Above it
  // the least used plans go, but for the newest.
  uint32_t max_plan_mib = 1024;
  bool fusion = true;             // Compiled fusion groups.
  uint32_t fusion_group_min = 2;  // Nodes.
  bool accurate = false;  // "accuracy=exact": no algorithm that rounds otherwise than tier 0.
  // Threads on which independent branches of one call may run, the caller's included; 1: none are
  // looked for.
  uint32_t inter_op_threads = 1;
  // What a branch must take at least to be handed over. 0, a test aid: whatever is independent is
  // handed over, untried.
  uint32_t inter_op_grain_us = 40;
  uint32_t compile_threads = 1;
  double compile_cpu_share = 0.5;     // Of one core, while compile jobs run.
  uint32_t compile_delay_ms = 0;      // A test aid: each job takes so much longer.
  uint32_t release_delay_ms = 60000;  // After which profiles of a graph with a standing plan go.
  double verify_rate = 0;             // Share of tier-1 calls that also run tier 0 and compare.
  // A plan serves only where real calls show that it is faster than tier 0; background only.
  bool plan_trial = true;
  bool memory_plan = true;        // Intermediate tensors of plans lie in one arena.
  bool poison = false;            // A test aid: NaNs in memory that is handed out again.
  uint32_t compile_failures = 0;  // A test aid: so many compilations of each graph fail.
  bool guards_fail = false;       // A test aid: every entry guard fails.
  bool verify_passes = false;     // Verify the graph after each pass.
  bool log = false;               // A line on standard error for each event of a graph's life.
  std::vector<std::string> disabled_passes;
  // Passes after which the graph is printed to standard error; also "all", "changed", "input".
  std::vector<std::string> print_after;
  bool print_ir = false;  // LLVM's text of each fused kernel, to standard error.
  // Of the library's user, around the specialised passes; null: none. No part of the text form.
  std::shared_ptr<const passes::PassRegistry> user_passes;
  bool perf_map = false;  // Fused kernels' names in /tmp/perf-PID.map, where `perf` looks for them.

  // Sets fields from "key=value,..."; lists are separated by "+". Throws kInvalidArgument naming
  // the key and what it takes.
  void apply(std::string_view text);
  // Throws kInvalidArgument for a field outside of what apply() takes.
  void check() const;
  // Defaults, changed by the environment variables TIERUP_TIERING (as apply() takes it) and
  // TIERUP_LOG ("on"), read once per process.
  static TieringOptions from_environment();
  // Every field as apply() takes it.
  std::string to_string() const;
  uint32_t budget() const;
};

}  // namespace tierup::tier
