// number_constants: constant tensors that stand for numbers in arithmetic count as numbers.
//
//   %y : Tensor = aten::mul.Tensor(%x, %c)    with %c a constant Double[]
//   =>  the same with a constant that is weak in promotion: an int tensor times 1.5 is float32
//
// Tracing records Python's numbers as such tensors, and PyTorch's executor takes them for numbers
// again.
//
// Requires   a verified graph.
// Rewrites   the second operand of sums, differences, products and quotients, if it is a constant
// tensor without
//            dimensions (and not a bool).
// Preserves  effects and their order; other uses of the constant.
// Counts     rewritten.
#pragma once

#include "tierup/passes/pass.h"

namespace tierup::passes {

void number_constants(PassContext& context);

}  // namespace tierup::passes
