// GroupBuilder: what a fusion group's members compute, as expressions of what a kernel reads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "tierup/codegen/group_kernel.h"

namespace tierup::codegen {

using kernels::ExprValue;
using ops::GroupArgument;
using ops::ValueForm;

// How values of a dtype travel; none if they do not.
std::optional<LaneType> lane_of_element(ScalarType type);
// A member's arguments, given the forms of inputs and of earlier members.
std::vector<ops::MeaningArgument> arguments_in(const ops::GroupProgram& program,
                                               const ops::GroupMember& member,
                                               const std::vector<ValueForm>& inputs,
                                               const std::vector<ValueForm>& members);

class GroupBuilder {
 public:
  // The views through which a value is read, outermost last.
  using Path = std::vector<ops::LoadStep>;
  // What a row member of a part of rows gives, by the member and what it goes over.
  using FoldPart = std::function<ExprValue(uint32_t member, const ExprValue& folded)>;

  GroupBuilder(const ops::GroupProgram& program, const std::vector<ValueForm>& input_forms,
               const std::vector<ValueForm>& member_forms, uint32_t part, GroupKernel& kernel)
      : program_(program),
        input_forms_(input_forms),
        member_forms_(member_forms),
        part_(part),
        kernel_(kernel) {
    if (join_parts_of(program) > 0) whole_.push_back({program.outputs[0], UINT32_MAX, part});
  }

  // Of a group whose last dimension is taken apart: the elements of its inputs there, all or one.
  void set_components(const std::vector<ops::KernelInput>& inputs);
  uint32_t components_of(uint32_t member) const;

  // A value that is read from memory.
  void set_leaf(const ops::KernelInput& leaf, uint32_t operand);

  // Else row members fold the components of a last dimension that is taken apart.
  void set_folds(FoldPart fold) { fold_part_ = std::move(fold); }

  // The sum of a product's products.
  void set_sum(uint32_t member, uint32_t operand);

  const ExprValue& output(uint32_t index) { return member(index, whole_); }
  const ExprValue& output(uint32_t index, uint32_t component);

 private:
  using Values = std::map<std::pair<uint32_t, Path>, ExprValue>;

  const ExprValue& member(uint32_t index, const Path& path);

  // One element of the last dimension: of what has but one there, that one.
  static Path component(uint32_t index) { return {{UINT32_MAX, UINT32_MAX, index}}; }
  uint32_t components_of(const GroupArgument& argument) const;

  // All components of what the member reads, in order.
  ExprValue folded(uint32_t index, const ops::GroupMember& member);

  // alpha times the sum, then beta times what is added, in the type of the sum.
  ExprValue multiplied(uint32_t index, const ops::GroupMember& member);
  static ScalarType scalar_type_of(LaneType type);

  // The one part of a joined value that is looked at, as it is.
  ExprValue joined(const ops::GroupMember& member, const Path& path);

  // Inputs that are not set are loads, numbered as they are met.
  const ExprValue& input(uint32_t index, const Path& path);

  ExprValue load(GroupArgument::Source source, uint32_t index, const Path& path);

  const ValueForm& form_of(GroupArgument::Source source, uint32_t index) const;

  ExprValue made(const ops::GroupMember& member, const Path& path);

  ExprValue operand_of(const ops::GroupMember& member, const Path& path,
                       const ops::PointwiseMeaning& meaning, size_t k,
                       const kernels::Variant& variant);

  const ExprValue& argument_value(const GroupArgument& argument, const Path& path);

  ExprValue number_node(const Scalar& number, ScalarType type);

  const ops::GroupProgram& program_;
  const std::vector<ValueForm>& input_forms_;
  const std::vector<ValueForm>& member_forms_;
  const uint32_t part_;
  Path whole_;  // From all of an output to what is made: nothing, or a part.
  GroupKernel& kernel_;
  std::vector<uint32_t> input_components_;
  std::vector<uint32_t> member_components_;
  Values inputs_;
  Values members_;
  std::map<uint32_t, ExprValue> sums_;
  FoldPart fold_part_;
};

}  // namespace tierup::codegen
