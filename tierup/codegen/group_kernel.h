// GroupKernel: a fusion group as a KernelSpec for inputs of certain forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tierup/codegen/kernel_spec.h"
#include "tierup/kernels/simd/expression.h"
#include "tierup/ops/regions/fusion_group.h"

namespace tierup::codegen {

// The types of every member's result for inputs of certain forms.
struct GroupForms {
  std::vector<ops::ValueForm> members;
  ops::RefusedGroup refusal;  // Why there are none.
};
GroupForms forms_of(const ops::GroupProgram& program, const std::vector<ops::ValueForm>& inputs);

struct GroupKernel {
  std::vector<OperandSpec> operands;  // Outputs first, then inputs.
  kernels::ExprBuilder expressions;
  std::vector<uint32_t> results;
  std::vector<Fold> folds;       // Of each output; empty if there are none.
  uint32_t components = 0;       // As in KernelSpec.
  std::vector<ops::Load> loads;  // If no inputs were given: those that were found.
  ops::RefusedGroup refusal;     // Why there is no kernel.

  // Points into this object. `name` must outlive it.
  KernelSpec spec(const char* name) const;
  static constexpr const char* kKind = "points";
  // All that decides the machine code, as bytes: a key of the CodeCache.
  std::string key() const;
};

// How values of a dtype lie in memory; none if they do not travel in lanes.
std::optional<ElementType> element_type_of(ScalarType type);

// The members `outputs` in terms of `inputs`, which must cut them off from everything else; without
// any, in terms of loads of the group's inputs; where values are joined, of the part that stands
// beside their part `part`. The sums of the members `products` are inputs behind all operands.
GroupKernel build_group_kernel(const ops::GroupProgram& program,
                               const std::vector<ops::ValueForm>& input_forms,
                               const std::vector<ops::ValueForm>& member_forms,
                               const std::vector<ops::KernelInput>& inputs,
                               const std::vector<uint32_t>& outputs, uint32_t part = 0,
                               const std::vector<uint32_t>& products = {});

// The same of a group whose last dimension is taken apart: without its folds.
GroupKernel build_component_kernel(const ops::GroupProgram& program, const GroupForms& forms,
                                   const std::vector<ops::ValueForm>& input_forms,
                                   const std::vector<ops::KernelInput>& inputs,
                                   const std::vector<uint32_t>& outputs);

}  // namespace tierup::codegen
