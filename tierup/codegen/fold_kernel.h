// The kernel of a group whose last dimension is taken apart; see ops/regions/component_loop.h.
#pragma once

#include "tierup/codegen/group_kernel.h"
#include "tierup/ops/table/facts.h"

namespace tierup::codegen {

// What a kernel does for one fold: a mean is a sum, which the loop around it divides.
Fold kernel_fold(ops::FoldKind kind);

// Also fills what the stage reads and gives.
GroupKernel build_component_fold(const ops::FusionGroup& group, const GroupForms& forms,
                                 ops::CompiledKernel& stage);

}  // namespace tierup::codegen
