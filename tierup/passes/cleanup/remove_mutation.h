// remove_tensor_mutation, remove_list_mutation: write in-place operations as what they compute.
//
//   %z : Tensor = aten::add_.Tensor(%t, %y, %1)        =>    %z : Tensor = aten::add.Tensor(%t, %y,
//   %1) with later uses of %t                                    and %z in their place
//
//   %l : List[int] = prim::ListConstruct(%a)           =>    %l : List[int] =
//   prim::ListConstruct(%a, %b) %m : List[int] = aten::append.t(%l, %b)
//
// Requires   a verified graph.
// Rewrites   an in-place operator on memory made in the same block by a fresh-result operator, seen
//            through no other value, whose functional twin is in the table; appends to a list
//            made in the same block, when nothing else touches the list in between, or when what
//            does only reads it: each reader gets a list of the elements so far.
// Preserves  values and the order of the remaining effects.
// Leaves     memory known outside, views, memory written in another block than it was made.
// Counts     rewritten, appended.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void remove_tensor_mutation(PassContext& context);
void remove_list_mutation(PassContext& context);

}  // namespace tierup::passes
