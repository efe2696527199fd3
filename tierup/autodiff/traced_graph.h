// traced_graph: calls of a trace as a graph.
#pragma once

#include "tierup/autodiff/call_trace.h"
#include "tierup/ir/graph.h"

namespace tierup::autodiff {

// `inputs` become the graph's parameters and `outputs` its results; tensors of `constants`, by
// place in the trace, become constants. Types hold dtypes and sizes. Throws kUnsupported for calls
// that no graph can hold.
std::shared_ptr<ir::Graph> make_graph(std::string name, const CallTrace& trace,
                                      std::span<const TracedCall> calls,
                                      std::span<const TraceId> constants,
                                      std::span<const TraceId> inputs,
                                      std::span<const TraceId> outputs);

}  // namespace tierup::autodiff
