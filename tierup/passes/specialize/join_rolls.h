// join_rolls: several rolls of one tensor become slices of one copy that goes on around its ends.
//
//   %a : Tensor = aten::roll(%x, [1], [0])         %w : Tensor = tierup::wrap(%x, [0], [1], [2])
//   %b : Tensor = aten::roll(%x, [-2], [0])   =>   %a : Tensor = aten::slice(%w, 0, 0, -3, 1)
//                                                  %b : Tensor = aten::slice(%w, 0, 3, None, 1)
//
// Neighbours on a torus, as stencils and cellular automata have them: each roll is a copy of the
// whole tensor, a slice is none.
//
// Requires   a verified graph; constant shifts and dimensions.
// Rewrites   two or more rolls in one block that point-wise operators alone read, where the copy,
// of
//            the sizes that were seen, has at most twice the elements.
// Preserves  values to the bit, and the layout of what is computed of them.
// Leaves     rolls of the flattened tensor; memory that is written.
// Counts     joined: rolls that became slices.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void join_rolls(PassContext& context);

}  // namespace tierup::passes
