// check_strict_fusion: says what a region that is to be one fused step left outside of it.
//
//   with torch.jit.strict_fusion():          note: Found unfused operators: aten::mm(...) -> Tensor
//       return torch.mm(x, y) + x * y          in the region at model.py:4
//
// Requires   the graph after everything that fuses.
// Rewrites   nothing. A region is what stands between Enter and Exit of such an object, in one
//            block; the steps that fuse are those of fusion groups and of nets. What gives no
//            tensor is not to be fused.
// Counts     unfused: operators that give tensors outside of a fused step; fusions: fused steps of
//            regions that have more than one.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void check_strict_fusion(PassContext& context);

}  // namespace tierup::passes
