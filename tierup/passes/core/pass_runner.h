// run_passes: runs passes in order over one graph, and does all that is not transformation:
// leaving out, counting down a budget, timing, printing, verifying, collecting counters.
#pragma once

#include <span>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// User passes of the options go before the first and after the last. Graphs held by forks are
// handled last, each as a graph of its own. Throws what a pass throws, and kInternal if a graph
// does not verify. One thread per graph.
PipelineReport run_passes(ir::Graph& graph, std::span<const Pass> passes,
                          const PassOptions& options = {});

}  // namespace tierup::passes
