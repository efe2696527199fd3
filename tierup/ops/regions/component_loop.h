// ComponentLoop: one run of a compiled group whose last dimension is short and taken apart.
//
// The group has one space, the inputs broadcast: [..., lanes, components]. Values have all of the
// last dimension or, like a weight of pairs of points, one element there. The kernel goes along the
// lanes with each component in a register of its own, so that folds over the components (the
// squared distance of two points) are sums of registers. Folds over dimensions that end with that
// of the lanes are held in registers until the lanes are through. All other dimensions go over
// threads.
#pragma once

#include <span>

#include "tierup/ops/regions/fusion_group.h"

namespace tierup::ops {

class ComponentLoop {
 public:
  ComponentLoop(const CompiledGroup& kernel, const GroupProgram& program, std::span<IValue> inputs);

  // False, with nothing done, if the inputs have other sizes than the kernel is made for.
  bool run(std::span<IValue> results);

 private:
  // How an operand lies in the space, in bytes.
  struct Lay {
    char* data = nullptr;
    IntVector outer;   // Strides of the dimensions that go over threads...
    IntVector folded;  // ...and of those that are folded, but for the lanes'.
    int64_t lane = 0;
  };

  bool find_shape();
  bool find_whole_values();
  bool find_inputs();
  bool make_outputs();
  void add_lay(const Tensor& tensor, const IntVector& strides);
  void run_piece(int64_t piece) const;
  bool folds_part(uint32_t member) const;
  size_t lane_dim() const { return shape_.size() - 2; }
  bool is_folded(size_t dim) const {
    const size_t first = shape_.size() - program_.row_rank;
    return has_folds_ && dim >= first && dim <= lane_dim();
  }

  const CompiledGroup& kernel_;
  const GroupProgram& program_;
  bool has_folds_ = false;
  SmallVector<Tensor, 8> inputs_;
  SmallVector<Tensor, 2> outputs_;
  IntVector components_;      // Of outputs.
  SmallVector<Lay, 8> lays_;  // Outputs first.
  IntVector shape_;
  IntVector outer_;   // Sizes of the dimensions that go over threads, and...
  IntVector folded_;  // ...that are folded, but for the lanes'.
  int64_t rows_ = 1;  // Elements of these.
  int64_t lanes_ = 0;
  int64_t piece_ = 0;   // Lanes of a piece of work.
  int64_t pieces_ = 1;  // Of the lanes.
};

}  // namespace tierup::ops
