// join_products: products of several slices of one tensor with the same matrix become one.
//
//   %a : Tensor = aten::select(%xs, 0, 0)          %p : Tensor = aten::linear(%xs, %w, %b)
//   %y : Tensor = aten::linear(%a, %w, %b)    =>   %y : Tensor = aten::select(%p, 0, 0)
//   %c : Tensor = aten::select(%xs, 0, 1)          %z : Tensor = aten::select(%p, 0, 1)
//   %z : Tensor = aten::linear(%c, %w, %b)         ...
//
// What an exporter makes of a recurrent loop. Slices are entries of a dimension (select), ranges of
// the first one (slice), or the parts that unbind, split and chunk give. Entries of the second
// dimension are taken of the transposed tensor, so that each part lies dense, as it would by
// itself.
//
// Requires   a verified graph without repeated operators (cse). For the second dimension the type
//            must give the tensor's rank.
// Rewrites   three or more products of few rows by what was seen, whose slices cover at least half
//            of what lies between the first and the last of them.
// Preserves  values but for rounding: a product of many rows may sum in another order than one of
//            a single row. Where the target keeps bits this is tried, and such products are left.
// Leaves     memory that is written; results that leave the graph.
// Counts     joined: products that others took the place of; rounds_otherwise: families left.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void join_products(PassContext& context);

}  // namespace tierup::passes
