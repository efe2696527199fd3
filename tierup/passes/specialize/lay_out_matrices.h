// lay_out_matrices: a matrix that several products of few rows read by columns is copied once.
//
//   %y = aten::linear(%x, %w, %b)           %t = aten::contiguous(aten::transpose(%w, 0, 1))
//   %z = aten::linear(%u, %w, %b)     =>    %m = aten::transpose(%t, 0, 1)
//   ...                                     %y = aten::linear(%x, %m, %b)
//                                           %z = aten::linear(%u, %m, %b)
//
// A product of many rows pays for the copy by itself, as a library makes it each time; one of few
// rows takes as long as the copy. Where weights are inputs, as in training, nothing else keeps one.
//
// Requires   a verified graph whose types or hints give the products' sizes.
// Rewrites   three or more products of at least two and few rows with the same matrix.
// Preserves  values but for rounding: a product may sum in another order where its matrix lies
//            otherwise. Where the target keeps bits this is tried, and such matrices are left.
// Leaves     memory that is written; constants, which nets pack.
// Counts     laid_out: matrices; rounds_otherwise: matrices left.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void lay_out_matrices(PassContext& context);

}  // namespace tierup::passes
