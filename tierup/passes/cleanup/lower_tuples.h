// lower_tuples: lets values pass around tuples instead of through them.
//
//   %t = prim::TupleConstruct(%a, %b)
//   %x = prim::TupleIndex[index=1](%t)          =>    %b for %x
//
// Requires   a verified graph.
// Lowers     index, slice and unpack of a tuple made in the graph; tuples that come out of an If or
//            through a Loop, when they are built in it and taken apart behind it, become
//            separate values.
// Preserves  effects and their order. Tuples are immutable, so identity does not matter.
// Leaves     tuples among the graph's inputs and outputs, and those made by operators.
// Counts     lowered, split.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void lower_tuples(PassContext& context);

// Replaces one TupleIndex, TupleUnpack or TupleSlice of a TupleConstruct by its elements; whether
// it did. The node is removed.
bool forward_tuple(PassContext& context, ir::Node* node);

}  // namespace tierup::passes
