// propagate_shapes: sizes of the inputs go through the graph, by the operators' shape functions.
//
//   graph @f(%x : Float(*, 8), ...)                 graph @f(%x : Float(s0, 8), ...)
//     %y : Tensor = aten::linear(%x, %w, %b)   =>     %y : Tensor(s0, 4) = aten::linear(%x, %w, %b)
//
// Unknown sizes of inputs get symbols: names of the sizes of this run, so that equal symbols are
// equal sizes whatever the sizes are, and no guard has to hold for that. What operators make of
// them goes into the values' types (ops/shapes/shape_context.h); peephole uses it.
//
// Requires   a verified graph; facts of the inputs' types that are true.
// Rewrites   types of tensors alone. What they said of sizes before, other than the inputs', was
//            somebody else's claim (an exporter's), and is dropped.
//            Of Ifs and Loops types say what holds for each branch and each trip.
// Leaves     tensors that something gives another geometry in place: nothing is known of them.
// Verifying  compares with what was seen when the graph was profiled; throws kInternal where a
//            shape function is wrong.
// Counts     known: tensors whose sizes it found.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void propagate_shapes(PassContext& context);

}  // namespace tierup::passes
