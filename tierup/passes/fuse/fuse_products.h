// fuse_products: small matrix products and what stands around them become single steps.
//
//   %p = aten::mm(%x, %w)                =>    %t = tierup::fusion_group(%x, %w, %b, %g)
//   %s = aten::add(%p, %b)                     where the capsule %g holds mm, add and tanh
//   %t = aten::tanh(%s)
//
// Requires   effects and alias marks; types and hints that tell the sizes of everything.
// Rewrites   small products with point-wise operators, operators over rows, other small products
//            and views that they read or are read by, in one block (product_groups.h).
// Preserves  values bit for bit; the order of everything that is not pure.
// Leaves     groups without a product, or below `min_size`. Each product that is left carries a
//            note that says why.
// Counts     groups, fused, shared (groups equal to an earlier one), and refused products.
#pragma once

#include "tierup/passes/fuse/fuse_pointwise.h"

namespace tierup::passes {

void fuse_products(PassContext& context, const FusionOptions& options = {});

}  // namespace tierup::passes
