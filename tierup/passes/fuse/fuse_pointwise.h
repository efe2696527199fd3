// fuse_pointwise: groups of point-wise operators as one step.
//
//   %a = aten::mul(%x, %y)                =>    %b = tierup::fusion_group(%x, %y, %g)
//   %b = aten::tanh(%a)                         where the capsule %g holds mul and tanh
//
// Reductions, softmaxes and norms over the last dimensions join in: the group then works row by
// row.
//
// Requires   effects and alias marks; types and hints, if they are there.
// Rewrites   connected operators whose rows have a scalar body with an expression, in one block.
//            Groups are as large as can be: a group must not depend on itself through others, nor
//            reach across an effect or a node that cannot move; known shapes must be the same.
// Preserves  values bit for bit; the order of everything that is not pure.
// Leaves     what writes or reads written memory, arguments that are no constants, groups below
//            `min_size`. Each left operator with a body carries a note that says why.
// Counts     groups, fused, shared (groups equal to an earlier one), and refusals by reason.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

struct FusionOptions {
  size_t min_size = 2;
};
void fuse_pointwise(PassContext& context, const FusionOptions& options = {});

}  // namespace tierup::passes
