// GroupLoads: what the members of a group look like in one run, and its inputs seen through views.
//
// Members are not computed here: they are outlines, tensors without data, on which the operators
// that give views are called as they would be on data. An input that is read through views of a
// member's value is broadcast to that member's shape first.
#pragma once

#include "tierup/ops/fusion_group.h"

namespace tierup::ops {

// A tensor without data, for questions about layout.
Tensor outline(IntSpan sizes, IntSpan strides, ScalarType dtype);

// What a chain of views makes of a tensor.
Tensor through_views(Tensor tensor, const ViewChain& chain);

class GroupLoads {
 public:
  // Throws Error where a view does not fit.
  GroupLoads(const CompiledGroup& kernel, const GroupProgram& program,
             std::span<const Tensor> inputs);

  // Whether views are what was expected; else the kernels do not suit.
  bool fits() const { return fits_; }
  // The members' layout, each as if it had run alone.
  const Tensor& member(uint32_t index) const { return members_[index]; }
  // What stands for the kernels' inputs.
  SmallVector<Tensor, 8> take_loads() { return std::move(loads_); }

 private:
  void outline_member(const GroupMember& member, ScalarType dtype);
  Tensor viewed(Tensor tensor, const ViewChain& chain);

  const GroupProgram& program_;
  std::span<const Tensor> inputs_;
  SmallVector<Tensor, 16> members_;
  SmallVector<Tensor, 8> loads_;
  bool fits_ = true;
};

}  // namespace tierup::ops
