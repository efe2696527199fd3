// The members' scalar bodies are instantiated one after another over the expressions of their
// arguments. Every intermediate value has the bits that tier 0 would have stored: f16 and bf16
// results are rounded where they would have been written.
#include "tierup/codegen/group_kernel.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/pointwise/expression_table.h"
#include "tierup/ops/regions/product_kinds.h"

namespace tierup::codegen {
namespace {

using kernels::ExprValue;
using ops::GroupArgument;
using ops::GroupRefusal;
using ops::ValueForm;

std::optional<LaneType> lane_of_element(ScalarType type) {
  return kernels::lane_type(type == ScalarType::kBFloat16 ? ScalarType::kFloat : type);
}

// To nearest even; every NaN becomes the one that BFloat16 has.
ExprValue rounded_to_bfloat(const ExprValue& value) {
  const auto binary = [](Opcode opcode, const ExprValue& a, int64_t b) {
    return expr_binary(opcode, LaneType::kI32, a, kernels::expr_integer(LaneType::kI32, b));
  };
  const ExprValue bits = expr_unary(Opcode::kBitcast, LaneType::kI32, value);
  const ExprValue odd = binary(Opcode::kAnd, binary(Opcode::kShiftRightLogical, bits, 16), 1);
  const ExprValue up =
      binary(Opcode::kAdd, expr_binary(Opcode::kAdd, LaneType::kI32, bits, odd), 0x7fff);
  const ExprValue rounded = binary(Opcode::kAnd, up, 0xffff0000);
  const ExprValue is_nan = expr_binary(Opcode::kNotEqual, LaneType::kMask, value, value);
  const ExprValue result =
      expr_select(is_nan, kernels::expr_integer(LaneType::kI32, 0x7fc00000), rounded);
  return expr_unary(Opcode::kBitcast, LaneType::kF32, result);
}

ExprValue number_as(const Scalar& number, ScalarType type) {
  switch (type) {
    case ScalarType::kFloat:
      return kernels::expr_constant(LaneType::kF32,
                                    static_cast<double>(kernels::convert_number<float>(number)));
    case ScalarType::kDouble: return kernels::expr_constant(LaneType::kF64, number.to_double());
    case ScalarType::kInt:
      return kernels::expr_integer(LaneType::kI32, kernels::convert_number<int32_t>(number));
    case ScalarType::kLong:
      return kernels::expr_integer(LaneType::kI64, kernels::convert_number<int64_t>(number));
    default: return kernels::expr_integer(LaneType::kMask, number.to_bool() ? 1 : 0);
  }
}

std::vector<ops::MeaningArgument> arguments_in(const ops::GroupProgram& program,
                                               const ops::GroupMember& member,
                                               const std::vector<ValueForm>& inputs,
                                               const std::vector<ValueForm>& members) {
  std::vector<ops::MeaningArgument> arguments;
  for (const GroupArgument& argument : member.arguments) {
    switch (argument.source) {
      case GroupArgument::Source::kInput: arguments.push_back({inputs[argument.index], {}}); break;
      case GroupArgument::Source::kMember:
        arguments.push_back({members[argument.index], {}});
        break;
      default: arguments.push_back({std::nullopt, argument.on_rows()});
    }
    if (argument.is_viewed()) {
      arguments.back().tensor->category = program.chains[argument.chain].category;
    }
  }
  return arguments;
}

// The views through which a value is read, outermost last.
using Path = std::vector<ops::LoadStep>;

class Builder {
 public:
  Builder(const ops::GroupProgram& program, const std::vector<ValueForm>& input_forms,
          const std::vector<ValueForm>& member_forms, uint32_t part, GroupKernel& kernel)
      : program_(program),
        input_forms_(input_forms),
        member_forms_(member_forms),
        part_(part),
        kernel_(kernel) {
    if (join_parts_of(program) > 0) whole_.push_back({program.outputs[0], UINT32_MAX, part});
  }

  // Of a group whose last dimension is taken apart: the elements of its inputs there, all or one.
  void set_components(const std::vector<ops::KernelInput>& inputs) {
    for (const ops::KernelInput& input : inputs) input_components_.push_back(input.components);
    for (const ops::GroupMember& member : program_.members) {
      uint32_t most = 1;
      for (const GroupArgument& argument : member.arguments) {
        most = std::max(most, components_of(argument));
      }
      member_components_.push_back(member.space == ops::RowSpace::kColumn ? 1 : most);
    }
  }
  uint32_t components_of(uint32_t member) const {
    return member_components_.empty() ? 1 : member_components_[member];
  }

  // A value that is read from memory.
  void set_leaf(const ops::KernelInput& leaf, uint32_t operand) {
    const bool is_input = leaf.source == GroupArgument::Source::kInput;
    Path through;
    if (leaf.chain != UINT32_MAX)
      through.push_back({is_input ? UINT32_MAX : leaf.index, leaf.chain});
    const LaneType type = *lane_of_element(form_of(leaf.source, leaf.index).dtype);
    (is_input ? inputs_ : members_)[{leaf.index, through}] =
        kernel_.expressions.input(operand, type);
    for (uint32_t c = 0; c < leaf.components; ++c) {
      inputs_[{leaf.index, component(c)}] = kernel_.expressions.component(operand, c, type);
    }
  }

  // The sum of a product's products.
  void set_sum(uint32_t member, uint32_t operand) {
    sums_[member] =
        kernel_.expressions.input(operand, *lane_of_element(member_forms_[member].dtype));
  }

  const ExprValue& output(uint32_t index) { return member(index, whole_); }
  const ExprValue& output(uint32_t index, uint32_t component) {
    return member(index, this->component(component));
  }

 private:
  using Values = std::map<std::pair<uint32_t, Path>, ExprValue>;

  const ExprValue& member(uint32_t index, const Path& path) {
    const auto known = members_.find({index, path});
    if (known != members_.end()) return known->second;
    const ops::GroupMember& made_of = program_.members[index];
    if (made_of.looks_up != ops::LookUpKind::kNone) {
      return members_[{index, path}] = load(GroupArgument::Source::kMember, index, path);
    }
    if (made_of.multiplies) return members_[{index, path}] = multiplied(index, made_of);
    if (made_of.by_rows) return members_[{index, path}] = folded(index, made_of);
    return members_[{index, path}] = made_of.joins ? joined(made_of, path) : made(made_of, path);
  }

  // One element of the last dimension: of what has but one there, that one.
  static Path component(uint32_t index) { return {{UINT32_MAX, UINT32_MAX, index}}; }
  uint32_t components_of(const GroupArgument& argument) const {
    switch (argument.source) {
      case GroupArgument::Source::kInput: return input_components_[argument.index];
      case GroupArgument::Source::kMember: return member_components_[argument.index];
      default: return 1;
    }
  }

  // All components of what the member reads, in order.
  ExprValue folded(uint32_t index, const ops::GroupMember& member) {
    const LaneType type = *lane_of_element(member_forms_[index].dtype);
    const uint32_t count = components_of(member.arguments[0]);
    const auto read = [&](uint32_t c) {
      return kernels::convert_lanes(argument_value(member.arguments[0], component(c)), type);
    };
    const ops::FoldKind fold = member.op->facts().fold;
    ExprValue result = read(0);
    for (uint32_t c = 1; c < count; ++c) {
      const ExprValue value = read(c);
      if (fold == ops::FoldKind::kSum || fold == ops::FoldKind::kMean) {
        result = expr_binary(Opcode::kAdd, type, result, value);
        continue;
      }
      const Opcode beyond = fold == ops::FoldKind::kLargest ? Opcode::kGreater : Opcode::kLess;
      const ExprValue takes = expr_binary(
          Opcode::kOr, LaneType::kMask, expr_binary(beyond, LaneType::kMask, value, result),
          expr_binary(Opcode::kNotEqual, LaneType::kMask, value, value));
      result = expr_select(takes, value, result);
    }
    if (fold != ops::FoldKind::kMean) return result;
    return expr_binary(Opcode::kDiv, type, result,
                       number_node(Scalar(static_cast<double>(count)), scalar_type_of(type)));
  }

  // alpha times the sum, then beta times what is added, in the type of the sum.
  ExprValue multiplied(uint32_t index, const ops::GroupMember& member) {
    const ops::ProductKind kind = member.op->facts().product;
    const ops::ProductArguments places = ops::product_arguments(kind);
    const bool is_scaled = kind == ops::ProductKind::kAdded;
    ExprValue value = sums_.at(index);
    const auto scaled = [&](const ExprValue& given, size_t place) {
      const Scalar factor = member.arguments[place].constant.to_scalar();
      const double number = factor.to_double();
      if (number == 1) return given;
      return expr_binary(Opcode::kMul, value.type, number_node(factor, scalar_type_of(value.type)),
                         given);
    };
    constexpr size_t kBeta = 3;
    constexpr size_t kAlpha = 4;
    if (is_scaled) value = scaled(value, kAlpha);
    const bool is_added =
        places.added &&
        member.arguments[*places.added].source != GroupArgument::Source::kConstant &&
        !(is_scaled && member.arguments[kBeta].constant.to_scalar().to_double() == 0);
    if (is_added) {
      ExprValue added =
          kernels::convert_lanes(argument_value(member.arguments[*places.added], {}), value.type);
      if (is_scaled) added = scaled(added, kBeta);
      value = expr_binary(Opcode::kAdd, value.type, value, added);
    }
    return member_forms_[index].dtype == ScalarType::kBFloat16 ? rounded_to_bfloat(value) : value;
  }
  static ScalarType scalar_type_of(LaneType type) {
    return type == LaneType::kF64 ? ScalarType::kDouble : ScalarType::kFloat;
  }

  // The one part of a joined value that is looked at, as it is.
  ExprValue joined(const ops::GroupMember& member, const Path& path) {
    if (path != whole_) {
      kernel_.refusal = GroupRefusal::kViewedJoin;
      return kernels::expr_constant(LaneType::kF32, 0);
    }
    const GroupArgument& argument = member.arguments[part_];
    const bool is_input = argument.source == GroupArgument::Source::kInput;
    return is_input ? input(argument.index, {}) : this->member(argument.index, {});
  }

  // Inputs that are not set are loads, numbered as they are met.
  const ExprValue& input(uint32_t index, const Path& path) {
    const auto known = inputs_.find({index, path});
    if (known != inputs_.end()) return known->second;
    return inputs_[{index, path}] = load(GroupArgument::Source::kInput, index, path);
  }

  ExprValue load(GroupArgument::Source source, uint32_t index, const Path& path) {
    const auto operand = static_cast<uint32_t>(program_.outputs.size() + kernel_.loads.size());
    kernel_.loads.push_back({source, index, path});
    return kernel_.expressions.input(operand, *lane_of_element(form_of(source, index).dtype));
  }

  const ValueForm& form_of(GroupArgument::Source source, uint32_t index) const {
    return source == GroupArgument::Source::kInput ? input_forms_[index] : member_forms_[index];
  }

  ExprValue made(const ops::GroupMember& member, const Path& path) {
    const ops::PointwiseMeaning meaning =
        meaning_of(*member.op, arguments_in(program_, member, input_forms_, member_forms_));
    const kernels::Variant& variant =
        *kernels::RunTable::instance().find(meaning.body, meaning.compute);
    std::array<ExprValue, kernels::kMaxInputs> operands;
    for (size_t k = 0; k < meaning.operands.size(); ++k) {
      operands[k] = operand_of(member, path, meaning, k, variant);
    }
    const ExprValue result = meaning.build(operands.data());
    return meaning.result.dtype == ScalarType::kBFloat16 ? rounded_to_bfloat(result) : result;
  }

  ExprValue operand_of(const ops::GroupMember& member, const Path& path,
                       const ops::PointwiseMeaning& meaning, size_t k,
                       const kernels::Variant& variant) {
    if (const auto* number = std::get_if<Scalar>(&meaning.operands[k])) {
      // A comparison sees the number as narrow as the elements are.
      if (meaning.common != meaning.compute && variant.out == ScalarType::kBool) {
        return number_node(Scalar(static_cast<double>(number->to<BFloat16>())), variant.in[k]);
      }
      return number_node(*number, variant.in[k]);
    }
    const ExprValue& value =
        argument_value(member.arguments[std::get<size_t>(meaning.operands[k])], path);
    return kernels::convert_lanes(value, *kernels::lane_type(variant.in[k]));
  }

  const ExprValue& argument_value(const GroupArgument& argument, const Path& path) {
    const bool is_input = argument.source == GroupArgument::Source::kInput;
    Path through;
    if (argument.is_viewed()) {
      through.push_back({is_input ? UINT32_MAX : argument.index, argument.chain});
    }
    if (member_components_.empty()) {
      through.insert(through.end(), path.begin(), path.end());
    } else {
      through = components_of(argument) > 1 ? path : component(0);
    }
    return is_input ? input(argument.index, through) : this->member(argument.index, through);
  }

  ExprValue number_node(const Scalar& number, ScalarType type) {
    const ExprValue value = number_as(number, type);
    return kernel_.expressions.constant(value.type, value.bits);
  }

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
};

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
  Builder builder(program, input_forms, member_forms, part, kernel);
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
  Builder builder(program, input_forms, forms.members, 0, kernel);
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
