// propagate_dtypes: element types of the inputs go through the graph, by what the operators' rows
// say of them.
//
//   graph @f(%x : Float(*), ...)                    graph @f(%x : Float(*), ...)
//     %m : Tensor = aten::gt.Scalar(%x, %zero)   =>     %m : Bool = aten::gt.Scalar(%x, %zero)
//     %d : int = prim::dtype(%x)                        %d : int = prim::dtype(%x)
//
// So that `mask.to(steps.dtype)` of a carried value is a conversion to a known dtype (peephole),
// and writes in place of the same dtype are known as such.
//
// Requires   a verified graph; facts of the inputs' types that are true.
// Rewrites   types of tensors alone; a dtype that a type has stays.
//            Of Ifs and Loops types say what holds for each branch and each trip.
// Counts     known: tensors whose dtype it found.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void propagate_dtypes(PassContext& context);

}  // namespace tierup::passes
