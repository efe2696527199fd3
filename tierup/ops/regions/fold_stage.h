// Fold stages: what a fusion group that folds parts of rows is done by (fold_loop.h).
//
// A fold's result may be read again along the lanes, so the group falls into stages: a stage makes
// what needs the folds of those before it. All go over the same tile, which stays in a near cache.
#pragma once

#include <vector>

#include "tierup/kernels/pointwise/fused_kernel.h"
#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/table/facts.h"

namespace tierup::ops {

// What stages make: the group's outputs first, then what later stages alone read.
struct FoldValue {
  ScalarType dtype = ScalarType::kFloat;
  FoldKind fold = FoldKind::kNone;
  bool is_still = false;     // Has one element for all that are folded; folds do.
  double less = 0;           // Of a mean: by how much fewer than the elements it is divided.
  bool is_variance = false;  // Tier 0 sums its squares in doubles; see are_out_of_range().
};

struct FoldStage {
  // Inputs of the group, then from its number of inputs on: values.
  std::vector<uint32_t> operands;
  uint32_t outputs = 0;  // How many of them it makes: the first ones.
  kernels::FusedFunction function = nullptr;
  Ref<RefCounted> code;  // Keeps the machine code.
};

struct CompiledFolds {
  std::vector<ValueForm> inputs;
  std::vector<ValueForm> members;
  std::vector<bool> uniform;  // Inputs that must be the same along the lanes; others go along...
  std::vector<bool> still;    // ...and that must be the same along what is folded.
  std::vector<FoldValue> values;
  std::vector<FoldStage> stages;
  int64_t grain = 0;  // Elements that are worth a thread.
};

// What a row member of a part of rows is made of, given its arguments; kNone if groups do not fold
// it.
FoldKind fold_kind_of(const Op& op, const std::vector<MeaningArgument>& arguments);
// By how much fewer than the elements a variance is divided.
double correction_of(const Op& op, const std::vector<MeaningArgument>& arguments);

}  // namespace tierup::ops
