// The kernel of a group whose row members fold a part of each row; see ops/regions/fold_loop.h.
#pragma once

#include "tierup/codegen/group_kernel.h"

namespace tierup::codegen {

// Also fills what the stage reads and gives. `uniform`: which inputs have one element in the last
// dimension.
GroupKernel build_fold_kernel(const ops::GroupProgram& program,
                              const std::vector<ops::ValueForm>& inputs, const GroupForms& forms,
                              const std::vector<bool>& uniform, ops::CompiledKernel& stage);

}  // namespace tierup::codegen
