// The pipelines: which passes run, in which order, for which tier.
#pragma once

#include <span>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// What stands between a front end and a tier-0 plan: inlining and clean-up, nothing speculative.
// A few microseconds per node.
std::span<const Pass> no_opt_passes();
PipelineReport run_no_opt_pipeline(ir::Graph& graph, const PassOptions& options = {});

// What makes a tier-1 graph out of tier 0's, once inputs have their profiled types and attributes
// are frozen. Everything in it rests on the entry guard alone.
std::span<const Pass> specialized_passes();
PipelineReport run_specialized_pipeline(ir::Graph& graph, const PassOptions& options = {});
// As it has it: draws of random numbers stay.
Pass specialized_dead_code_elimination();

// What cleans up the graphs of a differentiated part, before fusion: they are straight programs
// over tensors of known sizes. Values stay as they are to the bit.
std::span<const Pass> differentiated_passes();

// Every pass by name, for tests and the command line; null if unknown.
const Pass* find_pass(std::string_view name);
std::span<const Pass> all_passes();

}  // namespace tierup::passes
