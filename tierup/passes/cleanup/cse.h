// cse: common subexpression elimination: computes equal things once.
//
//   %a : int = aten::size.int(%x, %0)
//   %b : int = aten::size.int(%x, %0)          =>    %a for %b
//
// Requires   a verified graph; sees more after constant_pooling.
// Merges     operators without effects, attribute reads, tuples, casts, type tests, and lists that
// are
//            only read, when a node with the same inputs and attributes stands before, in the
//            same block or in one around it.
// Leaves     what reads memory that is written anywhere; fresh memory that is written, or that
//            leaves the graph (a caller could tell one tensor from two); random draws.
// Preserves  effects and their order.
// Counts     merged.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void cse(PassContext& context);

}  // namespace tierup::passes
