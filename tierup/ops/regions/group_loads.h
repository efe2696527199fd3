// GroupLoads: what the members of a group look like in one run, and its inputs seen through views.
//
// Members are not computed here: they are meta tensors, without data, on which the operators
// that give views are called as they would be on data. An input that is read through views of a
// member's value is broadcast to that member's shape first. Where members join values, each part is
// a run of its own, over the part of everything that stands beside it.
#pragma once

#include <optional>

#include "tierup/ops/regions/fusion_group.h"

namespace tierup::ops {

// A tensor without data, for questions about layout.
Tensor meta_tensor(IntSpan sizes, IntSpan strides, ScalarType dtype);
// Contiguous, of float32: for what asks only how sizes and views come out.
Tensor meta_tensor(IntSpan sizes);

// What a chain of views makes of a tensor.
Tensor through_views(Tensor tensor, const ViewChain& chain);

// What stands for a kernel's inputs.
struct Loads {
  // One that is looked up is its table (look_ups.h).
  SmallVector<Tensor, 8> tensors;
  // By operand; of those that are not looked up it is undefined.
  SmallVector<Tensor, 8> indices;
  SmallVector<const LookUp*, 8> look_ups;  // Null if it is not looked up.
};

class GroupLoads {
 public:
  // Throws Error where a view does not fit.
  GroupLoads(const CompiledGroup& kernel, const GroupProgram& program,
             std::span<const Tensor> inputs);

  // Whether views are what was expected; else the kernels do not suit.
  bool fits() const { return fits_; }
  // The members' layout, each as if it had run alone.
  const Tensor& member(uint32_t index) const { return members_[index]; }
  // May throw Error where a view does not fit. Refers to this object.
  Loads loads_of(const CompiledKernel& kernel);
  // What a part of the joined values takes of a tensor of the outputs' shape.
  Tensor part_of(const Tensor& whole, uint32_t part) const;

 private:
  // Where joined values fall apart.
  struct Cut {
    int64_t from_back = 0;  // The dimension, counted from the last one.
    bool is_stack = false;  // Parts have no such dimension.
    IntVector lengths;
    friend bool operator==(const Cut&, const Cut&) = default;
  };

  const Tensor& value_of(const GroupArgument& argument) const;
  void add_member(const GroupMember& member, ScalarType dtype);
  void add_join(const GroupMember& member, ScalarType dtype);
  void add_look_up(const GroupMember& member);
  Tensor stepped(Tensor tensor, const Load& load);
  Tensor viewed(Tensor tensor, const ViewChain& chain);

  const GroupProgram& program_;
  std::span<const Tensor> inputs_;
  SmallVector<Tensor, 16> members_;
  std::vector<LookUp> look_ups_;  // By member, if there are any.
  std::optional<Cut> cut_;
  bool fits_ = true;
};

}  // namespace tierup::ops
