// What a pass is, what it is given, and how the runner is told what to do.
//
// A pass is a free function over a PassContext. It edits through context.editor() only, which
// counts edits: that count tells the runner whether the pass changed anything, and the context
// when a cached analysis is stale.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/analysis/alias.h"
#include "tierup/analysis/liveness.h"
#include "tierup/ir/graph.h"
#include "tierup/ir/graph_editor.h"
#include "tierup/ir/value_hints.h"
#include "tierup/ops/regions/refusal.h"
#include "tierup/ops/table/op_table.h"
#include "tierup/passes/core/weight_reads.h"

namespace tierup::passes {

using Counters = std::map<std::string, int64_t, std::less<>>;

// What the code that comes out is to run on, and how exactly.
struct CompileTarget {
  int threads = 0;      // Of the callers; 0: not known, nothing is compiled ahead.
  bool is_fast = true;  // Algorithms with other rounding than tier 0's may be chosen.
  // Whether fusion groups, with kernels, are made of what is left. May take long; null: they are
  // not.
  std::function<bool()> has_groups;
  // Products are rewritten only where they keep tier 0's bits, which is tried.
  bool keeps_bits = false;
};

class PassContext {
 public:
  // `hints` may be null and must outlive this.
  PassContext(ir::Graph& graph, const ops::OpTable& table, ir::ValueHints* hints = nullptr)
      : editor_(graph), table_(&table), hints_(hints != nullptr ? hints : &no_hints_) {}

  ir::Graph& graph() { return editor_.graph(); }
  ir::GraphEditor& editor() { return editor_; }
  const ops::OpTable& table() const { return *table_; }

  // What the values looked like when the graph was profiled; empty if it was not. A pass that puts
  // a value in another's place copies its hint.
  ir::ValueHints& hints() { return *hints_; }
  const ir::ValueHints& hints() const { return *hints_; }

  const CompileTarget& target() const { return target_; }
  void set_target(const CompileTarget& target) { target_ = target; }

  // Null where nobody asks whether the numbers of weights were read. Who puts what they say into
  // the graph tells.
  WeightReads* weight_reads() const { return weight_reads_; }
  void set_weight_reads(WeightReads* reads) { weight_reads_ = reads; }

  // Whether passes are to compare what they find with what was seen (a debugging aid).
  bool is_verifying() const { return is_verifying_; }
  void set_verifying(bool on) { is_verifying_ = on; }

  // Analyses of the graph as it is now; made on first use, again after an edit. A reference holds
  // until the next call that follows an edit.
  const analysis::AliasAnalysis& alias();
  const analysis::Liveness& liveness();

  // Adds to a counter of the running pass ("folded"); the runner collects them.
  void count(std::string_view name, int64_t amount = 1);
  Counters take_counters() { return std::exchange(counters_, {}); }
  // What was left out of a region; counts "refused" and "refused:REASON".
  void refuse(ops::RefusedOperator refused);
  std::vector<ops::RefusedOperator> take_refused() { return std::exchange(refused_, {}); }
  // A line for the report on the plan: what was chosen, and why.
  void note(std::string line) { notes_.push_back(std::move(line)); }
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  template <typename T>
  struct Cached {
    std::unique_ptr<T> analysis;
    uint64_t edit_count = 0;
  };
  template <typename T>
  const T& cached(Cached<T>& slot);

  ir::GraphEditor editor_;
  const ops::OpTable* table_;
  ir::ValueHints no_hints_;
  ir::ValueHints* hints_;
  Cached<analysis::AliasAnalysis> alias_;
  Cached<analysis::Liveness> liveness_;
  Counters counters_;
  std::vector<std::string> notes_;
  std::vector<ops::RefusedOperator> refused_;
  CompileTarget target_;
  WeightReads* weight_reads_ = nullptr;
  bool is_verifying_ = false;
};

using PassFunction = std::function<void(PassContext&)>;
struct Pass {
  std::string name;
  PassFunction run;
};

// Passes that a user of the library adds around the pipelines. A value, owned by whoever holds the
// options; it must not change while graphs are compiled.
struct PassRegistry {
  std::vector<Pass> before;
  std::vector<Pass> after;
};

struct PassOptions {
  // Which dumps to give to `print`: pass names, "all", "changed" (after every pass that changed
  // something), "input" (before the first).
  std::vector<std::string> print_after;
  std::function<void(const std::string& text)> print;
  bool verify_each = false;           // Verify the graph after each pass that changed it.
  std::vector<std::string> disabled;  // Names of passes to leave out.
  // Counts down with each pass run; at zero no more are. For bisecting over a whole process.
  std::atomic<int64_t>* pass_budget = nullptr;
  const PassRegistry* user_passes = nullptr;
  ir::ValueHints* hints = nullptr;  // Of the graph's values; kept up to date by the passes.
  CompileTarget target;
  WeightReads* weight_reads = nullptr;  // What reads the numbers of weights is noted here.
};

// What one pass did.
struct PassReport {
  std::string name;
  bool changed = false;
  int64_t nanoseconds = 0;
  Counters counters;
  std::vector<std::string> notes;
  std::vector<ops::RefusedOperator> refused;
};
using PipelineReport = std::vector<PassReport>;

}  // namespace tierup::passes
