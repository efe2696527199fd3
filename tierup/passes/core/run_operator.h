// An operator run in a pass, on constants or stand-ins.
#pragma once

#include <optional>
#include <vector>

#include "tierup/ir/graph.h"
#include "tierup/ops/table/op.h"
#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// Whether the operator of `node` has a kernel that may be run at any time: it does nothing besides
// giving results, unless it raises.
bool can_run(const ir::Node& node, const ops::Op& op);

// Its results; nothing if it raises, which is left to the run. The operator must have a kernel, and
// no effects. `arguments` may be consumed.
std::optional<std::vector<IValue>> run_operator(const ops::Op& op, std::vector<IValue>& arguments,
                                                size_t result_count);
// The same for whoever puts the results, or what follows from them, into the graph: it is noted
// whether they follow from the numbers of weights.
std::optional<std::vector<IValue>> run_operator(PassContext& context, const ops::Op& op,
                                                std::vector<IValue>& arguments,
                                                size_t result_count);

}  // namespace tierup::passes
