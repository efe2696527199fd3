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

// number_tensors: what is computed of numbers alone by way of tensors without dimensions.
//
//   %t : Tensor = prim::NumToTensor(%width)            with %width known to be 192
//   %d : Tensor = aten::floor_divide(%t, %heads)
//   %s : Tensor = aten::pow(%d, %exponent)
//   %y : Tensor = aten::mul.Tensor(%x, %s)             with %x of float, and dimensions
//   =>  %y : Tensor = aten::mul.Scalar(%x, 0.1767767)
//
// Traces compute with sizes so. A scale that is a number becomes a part of the product or the
// attention before it.
//
// Requires   a verified graph; sizes that are known are constants.
// Rewrites   operators on tensors of constant numbers that nobody writes, returns or keeps.
// Preserves  results, to the bit; errors.
// Counts     folded, rewritten.
void number_tensors(PassContext& context);

}  // namespace tierup::passes
