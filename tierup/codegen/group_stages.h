// Stages: which kernels a group with row members falls into.
//
// A member's level is the number of row members in a row that it depends on. The kernel of a stage
// makes what row members of the next level, or the outside, read; all else is computed anew where
// it is needed, which costs less than going through memory.
#pragma once

#include <vector>

#include "tierup/ops/fusion_group.h"

namespace tierup::codegen {

struct GroupStage {
  std::vector<uint32_t> rows;     // Row members that run before the kernel.
  std::vector<uint32_t> outputs;  // Members that the kernel makes; may be empty.
  std::vector<ops::KernelInput> inputs;
};

// `uniform`: by input, whether it is the same for all elements of a run. A row member's result is.
std::vector<GroupStage> stages_of(const ops::GroupProgram& program,
                                  const std::vector<bool>& uniform);

}  // namespace tierup::codegen
