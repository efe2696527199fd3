#include "tierup/codegen/group_kernel.h"

#include <fmt/format.h>

#include <optional>

#include "tierup/codegen/group_builder.h"
#include "tierup/ops/regions/product_kinds.h"

namespace tierup::codegen {
namespace {

using ops::GroupRefusal;

GroupRefusal product_refusal(ops::ProductKind kind,
                             const std::vector<ops::MeaningArgument>& arguments) {
  std::vector<std::optional<ScalarType>> dtypes;
  for (const ops::MeaningArgument& argument : arguments) {
    dtypes.push_back(argument.tensor ? std::optional(argument.tensor->dtype) : std::nullopt);
  }
  return ops::product_refusal(kind, dtypes);
}

// Kernels convert nothing on the way.
GroupRefusal join_refusal(const std::vector<ops::MeaningArgument>& arguments) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (!arguments[i].tensor || arguments[i].tensor != arguments[0].tensor) {
      return GroupRefusal::kSeveralDtypes;
    }
  }
  return arguments[0].tensor->category == ops::PromotionCategory::kDimensioned
             ? GroupRefusal::kNone
             : GroupRefusal::kNoDimensions;
}

GroupRefusal look_up_refusal(const ops::GroupMember& member, const std::vector<ValueForm>& inputs) {
  const ops::LookUpArguments call = look_up_arguments(member);
  const auto has_dims = [](const ValueForm& form) {
    return form.category == ops::PromotionCategory::kDimensioned;
  };
  if (!has_dims(inputs[call.table]) || !has_dims(inputs[call.index]))
    return GroupRefusal::kNoDimensions;
  return ops::indexes(inputs[call.index].dtype) ? GroupRefusal::kNone : GroupRefusal::kIndexDtype;
}

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::optional<ElementType> element_type_of(ScalarType type) {
  switch (type) {
    case ScalarType::kFloat: return ElementType::kF32;
    case ScalarType::kDouble: return ElementType::kF64;
    case ScalarType::kInt: return ElementType::kI32;
    case ScalarType::kLong: return ElementType::kI64;
    case ScalarType::kBool: return ElementType::kBool;
    case ScalarType::kBFloat16: return ElementType::kBF16;
    default: return std::nullopt;
  }
}

GroupForms forms_of(const ops::GroupProgram& program, const std::vector<ValueForm>& inputs) {
  GroupForms forms;
  for (const ValueForm& input : inputs) {
    if (!element_type_of(input.dtype)) {
      forms.refusal = {GroupRefusal::kNoLanes, std::string(scalar_type_name(input.dtype))};
      return forms;
    }
  }
  for (const ops::GroupMember& member : program.members) {
    const auto arguments = arguments_in(program, member, inputs, forms.members);
    ops::RefusedGroup refusal;
    if (member.looks_up != ops::LookUpKind::kNone) {
      forms.members.push_back({inputs[look_up_arguments(member).table].dtype});
      refusal = look_up_refusal(member, inputs);
    } else if (member.multiplies) {
      const ops::ProductKind kind = member.op->facts().product;
      forms.members.push_back(*arguments[ops::product_arguments(kind).left].tensor);
      forms.members.back().category = kind == ops::ProductKind::kDot
                                          ? ops::PromotionCategory::kZeroDim
                                          : ops::PromotionCategory::kDimensioned;
      refusal = product_refusal(kind, arguments);
    } else if (member.joins) {
      forms.members.push_back(arguments[0].tensor.value_or(ValueForm{}));
      refusal = join_refusal(arguments);
    } else if (member.by_rows) {
      ops::RowMeaning meaning = row_meaning_of(*member.op, arguments, member.result);
      refusal = std::move(meaning.refusal);
      const bool has_rank = meaning.row_rank == program.row_rank ||
                            (program.components > 0 && member.space == ops::RowSpace::kColumn);
      if (!refusal && (meaning.space != member.space || !has_rank)) {
        refusal = GroupRefusal::kOtherRows;
      }
      forms.members.push_back(meaning.result);
    } else {
      ops::PointwiseMeaning meaning = meaning_of(*member.op, arguments);
      refusal = std::move(meaning.refusal);
      forms.members.push_back(meaning.result);
    }
    if (!refusal) continue;
    const std::string& name = member.op->schema().name;
    refusal.detail = refusal.detail.empty() ? name : name + ": " + refusal.detail;
    forms.refusal = std::move(refusal);
    return forms;
  }
  return forms;
}

GroupKernel build_group_kernel(const ops::GroupProgram& program,
                               const std::vector<ValueForm>& input_forms,
                               const std::vector<ValueForm>& member_forms,
                               const std::vector<ops::KernelInput>& inputs,
                               const std::vector<uint32_t>& outputs, uint32_t part,
                               const std::vector<uint32_t>& products) {
  GroupKernel kernel;
  GroupBuilder builder(program, input_forms, member_forms, part, kernel);
  for (size_t i = 0; i < inputs.size(); ++i) {
    builder.set_leaf(inputs[i], static_cast<uint32_t>(outputs.size() + i));
  }
  for (size_t p = 0; p < products.size(); ++p) {
    builder.set_sum(products[p], static_cast<uint32_t>(outputs.size() + inputs.size() + p));
  }
  for (const uint32_t output : outputs) {
    kernel.operands.push_back({*element_type_of(member_forms[output].dtype), Access::kContiguous});
    kernel.results.push_back(kernel.expressions.node_of(builder.output(output)));
  }
  for (const ops::Load& load : kernel.loads) {
    const auto& forms = load.source == GroupArgument::Source::kInput ? input_forms : member_forms;
    kernel.operands.push_back({*element_type_of(forms[load.index].dtype), Access::kSplat});
  }
  for (const ops::KernelInput& input : inputs) {
    const ValueForm& form = input.source == GroupArgument::Source::kInput
                                ? input_forms[input.index]
                                : member_forms[input.index];
    kernel.operands.push_back(
        {*element_type_of(form.dtype), input.uniform ? Access::kBroadcast : Access::kSplat});
  }
  return kernel;
}

GroupKernel build_component_kernel(const ops::GroupProgram& program, const GroupForms& forms,
                                   const std::vector<ValueForm>& input_forms,
                                   const std::vector<ops::KernelInput>& inputs,
                                   const std::vector<uint32_t>& outputs) {
  GroupKernel kernel;
  kernel.components = program.components;
  GroupBuilder builder(program, input_forms, forms.members, 0, kernel);
  builder.set_components(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    builder.set_leaf(inputs[i], static_cast<uint32_t>(outputs.size() + i));
  }
  for (const uint32_t output : outputs) {
    const uint32_t components = builder.components_of(output);
    kernel.operands.push_back({*element_type_of(forms.members[output].dtype), Access::kContiguous,
                               static_cast<uint8_t>(components)});
    for (uint32_t c = 0; c < components; ++c) {
      kernel.results.push_back(kernel.expressions.node_of(builder.output(output, c)));
    }
  }
  for (const ops::KernelInput& input : inputs) {
    kernel.operands.push_back({*element_type_of(input_forms[input.index].dtype),
                               input.uniform ? Access::kBroadcast : Access::kContiguous,
                               static_cast<uint8_t>(input.components)});
  }
  return kernel;
}

KernelSpec GroupKernel::spec(const char* name) const {
  KernelSpec spec{};
  spec.name = name;
  spec.operands = operands.data();
  spec.output_count = static_cast<uint32_t>(components > 0 ? folds.size() : results.size());
  spec.components = components;
  spec.operand_count = static_cast<uint32_t>(operands.size());
  spec.nodes = expressions.nodes().data();
  spec.node_count = static_cast<uint32_t>(expressions.nodes().size());
  spec.results = results.data();
  spec.folds = folds.empty() ? nullptr : folds.data();
  return spec;
}

std::string GroupKernel::key() const {
  std::string bytes;
  append(bytes, results.size());
  for (const OperandSpec& operand : operands) {
    append(bytes, operand.element);
    append(bytes, operand.access);
    append(bytes, operand.components);
    append(bytes, operand.is_still);
  }
  for (const kernels::ExprNode& node : expressions.nodes()) {
    append(bytes, node.opcode);
    append(bytes, node.type);
    append(bytes, node.operands);
    append(bytes, node.immediate);
  }
  for (const uint32_t result : results) append(bytes, result);
  for (const Fold fold : folds) append(bytes, fold);
  append(bytes, components);
  return bytes;
}

}  // namespace tierup::codegen
