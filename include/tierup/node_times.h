// NodeTimes: where the time of runs goes, node by node.
//
//   tierup::NodeTimes times;
//   module.call({input}, {}, {.node_times = times});
//   for (const auto& node : times.nodes()) std::cout << node.op << " " << node.nanoseconds << "\n";
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tierup/export.h"

namespace tierup::v1 {

// What a node, or all nodes of one kind, took in the measured runs.
struct NodeTime {
  std::string op;      // "aten::linear"
  std::string shapes;  // "float32[1, 8], float32[4, 8] -> float32[1, 4]", as last seen.
  std::string place;   // The model's own line, if it has one.
  uint64_t calls = 0;
  double nanoseconds = 0;
  double operations = 0;  // Floating-point; 0 where they are beside the point.
  double bytes = 0;       // Of the tensors read and written.
};

// A handle; copies are the same collector, to which every run with it adds. Measuring a node costs
// about 0.1 us. Thread rule: any thread.
class TIERUP_API NodeTimes {
 public:
  NodeTimes();
  ~NodeTimes();
  NodeTimes(const NodeTimes&) noexcept;
  NodeTimes& operator=(const NodeTimes&) noexcept;

  // The longest first.
  std::vector<NodeTime> nodes() const;
  // The same, added up by operator.
  std::vector<NodeTime> kinds() const;
  void clear();

 private:
  friend struct Access;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// What benchmark_nodes() measured: after runs that are not counted, so many that are.
struct NodeBenchmark {
  uint32_t warmup_runs = 0;
  uint32_t main_runs = 0;
  double run_ms = 0;  // One run, by the clock, measuring included.
  std::vector<NodeTime> nodes;
  std::vector<NodeTime> kinds;
};

}  // namespace tierup::v1
