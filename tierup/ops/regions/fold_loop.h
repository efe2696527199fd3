// FoldLoop: one run of a compiled group whose row members fold a part of each row's dimensions.
//
// The group has one space, the inputs broadcast: [outer..., folded..., kept...]. One kernel goes
// along the last dimension by lanes and, for each block of them, along the folded dimensions, with
// what is folded in registers: nothing that is folded is stored. The other dimensions, and pieces
// of the last one, go over threads. Each element is folded in the order of its dimension, in chunks
// of some hundred, whose results are folded in turn; that is another order than tier 0's.
#pragma once

#include <optional>
#include <span>

#include "tierup/ops/regions/fusion_group.h"

namespace tierup::ops {

// Elements of the last dimension that are one piece of work.
inline constexpr int64_t kFoldPiece = 256;

class FoldLoop {
 public:
  FoldLoop(const CompiledGroup& kernel, const GroupProgram& program, std::span<IValue> inputs);

  // False, with nothing done, if the inputs are laid out otherwise than the kernel reads them.
  bool run(std::span<IValue> results);

 private:
  // How an operand lies in the space, in bytes.
  struct Lay {
    char* data = nullptr;
    IntVector strides;  // Of the dimensions that are neither folded nor the last one.
    int64_t fold_stride = 0;
    int64_t lane_stride = 0;
  };

  bool find_shape();
  bool has_whole_values() const;
  std::optional<Lay> lay_of(const Tensor& tensor, const IntVector& strides) const;
  bool find_inputs();
  bool make_outputs();
  void run_piece(int64_t piece) const;
  size_t first_folded() const { return shape_.size() - program_.row_rank; }
  bool is_folded(size_t dim) const {
    return dim >= first_folded() && dim < first_folded() + folded_;
  }
  FoldKind fold_of(size_t output) const;

  const CompiledGroup& kernel_;
  const GroupProgram& program_;
  SmallVector<Tensor, 8> inputs_;
  SmallVector<Tensor, 2> outputs_;
  SmallVector<Lay, 8> lays_;  // Outputs first.
  IntVector shape_;
  IntVector outer_;     // Sizes of the dimensions that are neither folded nor the last one.
  size_t folded_ = 0;   // Dimensions.
  int64_t rows_ = 1;    // Elements of them.
  int64_t pieces_ = 1;  // Of the last dimension.
};

}  // namespace tierup::ops
