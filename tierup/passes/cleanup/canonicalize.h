// canonicalize: removes nodes that do nothing, without asking any analysis.
//
//   %l : List[int] = prim::ListConstruct(%a, %b)
//   %c : int, %d : int = prim::ListUnpack(%l)         =>    %a for %c, %b for %d
//
// Requires   a verified graph.
// Removes    unchecked casts to the type that the value has; a ListUnpack of a ListConstruct that
//            nothing else uses; a TupleConstruct of all elements of one TupleUnpack, in order;
//            outputs of Ifs and carried values of Loops that nobody uses or that never change.
// Preserves  effects and their order.
// Counts     casts, lists, tuples, outputs.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void canonicalize(PassContext& context);

}  // namespace tierup::passes
