// einsum_products: sums of products of two tensors that are matrix products become such.
//
//   %y = aten::einsum("bihd,bjhd->bhij", [%q, %k])
//   =>  %l = aten::permute(%q, [0, 2, 1, 3])
//       %r = aten::permute(%k, [0, 2, 3, 1])
//       %y = aten::matmul(%l, %r)
//
// Then nets take them, and attention is found whichever way it is written.
//
// Requires   a verified graph; sizes propagated.
// Rewrites   constant equations of two tensors of known rank without an ellipsis or repeated
//            letters, in which each letter is of one kind: of both tensors and the result; of the
//            first and the result; of the second and the result (one); of both tensors alone,
//            where their sizes are surely equal, or one of them is known: the other is repeated to
//            it.
// Preserves  values: the same products, summed in the same order; that the result lies in memory as
//            PyTorch's does.
// Counts     rewritten.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void einsum_products(PassContext& context);

}  // namespace tierup::passes
