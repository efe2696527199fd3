// tierup bench --nodes: where the time of steady calls goes.
#pragma once

#include <cstdint>
#include <functional>

#include "model_options.h"
#include "tierup/options.h"

namespace tierup::cli {

struct NodeBenchOptions {
  double seconds = 3;        // Of the measured calls, after as long a warm-up; or
  uint32_t warmup_runs = 0;  // so many calls that are not measured,
  uint32_t main_runs = 0;    // and so many that are; 0: by seconds.
  bool json = false;
};

// Calls `call(number, options)`, which runs `model`, and prints time, share, kind, shapes and rates
// of each node.
void bench_nodes(const std::function<void(size_t, const v1::RunOptions&)>& call,
                 const NodeBenchOptions& options, const ModelArguments& model);

}  // namespace tierup::cli
