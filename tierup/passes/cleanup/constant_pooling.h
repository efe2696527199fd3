// constant_pooling: keeps one copy of equal constants, at the head of the graph.
//
//   %1 : int = prim::Constant[value=1]()  ...  %9 : int = prim::Constant[value=1]()   =>   one of
//   them
//
// Requires   a verified graph.
// Merges     plain constants (numbers by their bits, strings, None, devices, tuples of those) of
// the
//            same type; lists of plain values that are only read; the very same tensor or object.
// Preserves  effects and their order; every remaining constant moves to the head of the graph's
//            own block, in program order, so that it dominates all uses.
// Counts     merged.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void constant_pooling(PassContext& context);

}  // namespace tierup::passes
