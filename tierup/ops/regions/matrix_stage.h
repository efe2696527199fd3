// Matrix stages: what a fusion group with products is done by.
//
// All values of such a group are small, and each is a batch of matrices: its last two dimensions
// are rows and columns. Members that are computed over the same rows and columns, without anything
// of the group that has to lie in memory before, make one stage: one kernel that holds the
// products' sums in registers and does the point-wise members on them. What is multiplied, viewed,
// broadcast, or read by a row member is stored by an earlier stage. A row member is a stage of its
// own, done by its row's tier-0 kernel.
#pragma once

#include <vector>

#include "tierup/kernels/pointwise/fused_kernel.h"
#include "tierup/ops/regions/fusion_group.h"

namespace tierup::ops {

// How a kernel goes along the columns of something that it reads.
enum class ColumnStep : uint8_t {
  kOne,
  kNone,
  kAny,
  kTurned,  // Of a product's right factor: any, but each column lies in one piece.
};
// What one tensor, of so many columns, allows; whether it allows a given step.
ColumnStep column_step(const Tensor& tensor, int64_t columns);
bool allows(const Tensor& tensor, int64_t columns, ColumnStep step);
// Of a right factor.
ColumnStep right_step(const Tensor& factor);

// A copy whose elements lie row by row.
Tensor copied_in_order(const Tensor& tensor);

struct MatrixRead {
  GroupArgument::Source source = GroupArgument::Source::kInput;
  uint32_t index = 0;
  uint32_t chain = UINT32_MAX;
  ColumnStep step = ColumnStep::kOne;
};

struct MatrixStage {
  static constexpr uint32_t kNoMember = UINT32_MAX;
  uint32_t called = kNoMember;  // A row member; then there is nothing else.
  std::vector<uint32_t> outputs;
  std::vector<MatrixRead> reads;
  std::vector<uint32_t> products;       // Members whose sums it makes...
  std::vector<ColumnStep> right_steps;  // ...and how their right factors are read.
  kernels::MatrixFunction function = nullptr;
  Ref<RefCounted> code;  // Keeps the machine code.
};

struct CompiledMatrices {
  std::vector<ValueForm> inputs;
  std::vector<ValueForm> members;
  std::vector<MatrixStage> stages;
};

}  // namespace tierup::ops
