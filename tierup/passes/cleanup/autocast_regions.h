// autocast_regions: casts in front of the operators inside `with torch.autocast("cpu", ...)`.
//
//   prim::Enter(%region)               prim::Enter(%region)
//   %y = aten::mm(%a, %b)         =>   %c = aten::_autocast_to_reduced_precision(%a, ...)  (and %b)
//                                      %y = aten::mm(%c, %d)
//
// Requires   the region's object is made in this graph from constants: inlined calls, folded
//            branches. Throws kUnsupported otherwise, as TorchScript's compiler does.
// Changes    inputs that are tensors, of the operators that TorchScript's compiler casts.
// Leaves     regions of other devices, and what is inside regions that are not enabled.
// Preserves  effects and their order.
// Counts     casts.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void autocast_regions(PassContext& context);

}  // namespace tierup::passes
