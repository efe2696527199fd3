// MatrixMetaTensors: what the values of a group with products look like for inputs of certain
// sizes.
//
// Nothing is computed: views are taken of tensors without data. What does not fit, in whatever way,
// is left to the group's twin, which says what tier 0 would.
#pragma once

#include <span>
#include <vector>

#include "tierup/ops/regions/fusion_group.h"
#include "tierup/ops/regions/product_kinds.h"

namespace tierup::ops {

// What views make of a tensor without data. Throws Error if one does not fit or would copy.
Tensor meta_through(Tensor meta, const ViewChain& views);

class MatrixMetaTensors {
 public:
  // Dimensions that values may have: two outer ones, rows and columns.
  static constexpr int64_t kMaxRank = 4;

  MatrixMetaTensors(const GroupProgram& program, std::span<const Tensor> inputs);

  // Why no kernels over matrices do the group for these inputs, if they do not.
  const RefusedGroup& refusal() const { return refusal_; }
  const Tensor& member(uint32_t index) const { return members_[index]; }
  // What a member reads: for inputs and members with their offset from the value's own begin.
  Tensor value_of(GroupArgument::Source source, uint32_t index, uint32_t chain) const;
  Tensor value_of(const GroupArgument& argument) const {
    return value_of(argument.source, argument.index, argument.chain);
  }
  // Of a member that multiplies.
  const Factors& factors(uint32_t index) const { return factors_[index]; }

 private:
  void make_all();
  Tensor meta_of(const GroupMember& member);
  Tensor meta_of_product(const GroupMember& member);
  Tensor meta_of_row_member(const GroupMember& member) const;
  Tensor meta_of_point(const GroupMember& member) const;

  const GroupProgram& program_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> members_;
  std::vector<Factors> factors_;  // By member.
  RefusedGroup refusal_;
};

}  // namespace tierup::ops
