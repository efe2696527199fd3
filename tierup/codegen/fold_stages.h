// How a group whose row members fold a part of each row falls into kernels; see
// ops/regions/fold_stage.h.
//
// All of the group is written down as one list of expressions, in which each fold's result is an
// input of its own. An expression's stage is the longest line of folds that it depends on. What an
// earlier stage has computed is computed again where that takes a few operations, and else stored
// for the tile.
#pragma once

#include <vector>

#include "tierup/codegen/group_kernel.h"
#include "tierup/ops/regions/fold_stage.h"

namespace tierup::codegen {

struct FoldKernels {
  std::vector<ops::FoldValue> values;
  std::vector<ops::FoldStage> stages;  // Without functions.
  std::vector<GroupKernel> kernels;    // Of the stages.
};

// Inputs have one element in the last dimension, or all side by side, as the group expects; the
// same holds for what is folded.
FoldKernels build_folds(const ops::FusionGroup& group, const GroupForms& forms);

}  // namespace tierup::codegen
