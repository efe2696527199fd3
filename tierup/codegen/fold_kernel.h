// The kernel of a group whose row members fold a part of each row; see ops/regions/fold_loop.h.
#pragma once

#include "tierup/codegen/group_kernel.h"

namespace tierup::codegen {

// Both also fill what the stage reads and gives. Inputs have one element in the last dimension, or
// all side by side, as the group expects.
GroupKernel build_fold_kernel(const ops::FusionGroup& group, const GroupForms& forms,
                              ops::CompiledKernel& stage);
// Of a group whose last dimension is taken apart; see ops/regions/component_loop.h.
GroupKernel build_component_fold(const ops::FusionGroup& group, const GroupForms& forms,
                                 ops::CompiledKernel& stage);

}  // namespace tierup::codegen
