// fold_tensors: what is computed of constant tensors alone is computed once.
//
//   %w : Tensor = aten::mul.Tensor(%weight, %mask)        with both constants
//   %y : Tensor = aten::conv2d(%x, %w, ...)
//   =>  %y : Tensor = aten::conv2d(%x, %folded, ...)
//
// Frozen weights are constants: masked, scaled and normalised ones are again, and so are tables of
// positions and masks of attention. Nets then pack them as they pack any weight.
//
// Requires   a verified graph; attributes frozen.
// Rewrites   operators without effects whose tensors are constants, lists of such, or views of
// them, where nobody writes, returns or keeps the result; of views themselves those that nets
// would pack (a filter with dimensions put in).
// Preserves  results, to the bit; errors; that each run has its own memory for what it hands on.
// Leaves     results that take more bytes than what they are made of, and than the second-level
// cache holds: to make those again is no dearer than to read them.
// Counts     folded, too_large.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void fold_tensors(PassContext& context);

}  // namespace tierup::passes
