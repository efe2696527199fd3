// batch_loop_products: one product before a loop in place of one in each trip.
//
//   %n = aten::size(%xs, 0)                      %p = prim::If(%n > 0): aten::linear(%xs, %w, %b)
//   loop %n: block(%i):                    =>    loop %n: block(%i):
//     %x = aten::select(%xs, 0, %i)                %y = aten::select(%p, 0, %i)
//     %y = aten::linear(%x, %w, %b)
//
// Requires   types or hints that give the rank of %xs: at least 2.
// Rewrites   loops that are left by their trip count alone, whose count is the size that is taken
//            apart, and products whose other operands are known before the loop.
// Preserves  values but for rounding: a product of many rows may sum in another order than one of
//            a single row. Not to be run where results must be tier 0's to the bit.
// Leaves     memory that is written.
// Counts     batched.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void batch_loop_products(PassContext& context);

}  // namespace tierup::passes
