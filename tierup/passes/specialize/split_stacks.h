// split_stacks: what is taken apart again in the dimension in which it was stacked is computed part
// by part.
//
//   %s : Tensor = aten::stack([%a, %b], -1)        %a2 : Tensor = aten::mul(%a, %k)
//   %t : Tensor = aten::mul(%s, %k)           =>   %b2 : Tensor = aten::mul(%b, %k)
//   %x, %y = unpack(aten::unbind(%t, -1))          (%x, %y are %a2, %b2)
//
// States of simulations: their components are named, their slopes stacked, states and slopes added
// as wholes, and the sum is taken apart for the next slope. The parts are one group with what is
// before and behind, and lie without steps.
//
// Requires   a verified graph; dtypes and sizes that propagate_dtypes and propagate_shapes found.
// Rewrites   point-wise operators between stacks and unbinds or selects of one block, over two
//            dimensions, so that parts are vectors; a stack stands behind them where others read
//            the whole. An operand that is no stack is read by parts where its size is sure.
// Preserves  values to the bit; the layout of whatever is read as a whole; errors: parts that may
//            be of unequal sizes are checked, before anything else that can be noticed.
// Leaves     stacks of more than eight; those of matrices, whose layout results would have; those
//            that nobody takes apart; memory that is written.
// Counts     split: operators that became one for each part.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void split_stacks(PassContext& context);

}  // namespace tierup::passes
