// number_constants: constant tensors that stand for numbers in arithmetic count as numbers.
//
//   %y : Tensor = aten::mul.Tensor(%x, %c)    with %c a constant Double[]
//   =>  %y : Tensor = aten::mul.Scalar(%x, 1.5): an int tensor times 1.5 is float32
//
// Where the operator has no overload for numbers, the constant becomes one that is weak in
// promotion.
//
// Tracing records Python's numbers as such tensors, and PyTorch's executor takes them for numbers
// again; torch.export does so too. Passes and fused kernels then meet one form of a number.
//
// Requires   a verified graph.
// Rewrites   the second operand of sums, differences, products and quotients, if it is a constant
// tensor without
//            dimensions (and not a bool).
// Preserves  effects and their order; other uses of the constant.
// Counts     rewritten.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void number_constants(PassContext& context);

}  // namespace tierup::passes
