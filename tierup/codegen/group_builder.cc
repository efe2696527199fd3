// The members' scalar bodies are instantiated one after another over the expressions of their
// arguments. Every intermediate value has the bits that tier 0 would have stored: f16 and bf16
// results are rounded where they would have been written.
#include "tierup/codegen/group_builder.h"

#include <algorithm>

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/pointwise/expression_table.h"
#include "tierup/ops/regions/product_kinds.h"

namespace tierup::codegen {

using ops::GroupRefusal;

namespace {

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

}  // namespace

std::optional<LaneType> lane_of_element(ScalarType type) {
  return kernels::lane_type(type == ScalarType::kBFloat16 ? ScalarType::kFloat : type);
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

void GroupBuilder::set_components(const std::vector<ops::KernelInput>& inputs) {
  for (const ops::KernelInput& input : inputs) input_components_.push_back(input.components);
  for (const ops::GroupMember& member : program_.members) {
    uint32_t most = 1;
    for (const GroupArgument& argument : member.arguments) {
      most = std::max(most, components_of(argument));
    }
    member_components_.push_back(member.space == ops::RowSpace::kColumn ? 1 : most);
  }
}

uint32_t GroupBuilder::components_of(uint32_t member) const {
  return member_components_.empty() ? 1 : member_components_[member];
}

void GroupBuilder::set_leaf(const ops::KernelInput& leaf, uint32_t operand) {
  const bool is_input = leaf.source == GroupArgument::Source::kInput;
  Path through;
  if (leaf.chain != UINT32_MAX) through.push_back({is_input ? UINT32_MAX : leaf.index, leaf.chain});
  const LaneType type = *lane_of_element(form_of(leaf.source, leaf.index).dtype);
  (is_input ? inputs_ : members_)[{leaf.index, through}] = kernel_.expressions.input(operand, type);
  for (uint32_t c = 0; c < leaf.components; ++c) {
    inputs_[{leaf.index, component(c)}] = kernel_.expressions.component(operand, c, type);
  }
}

void GroupBuilder::set_sum(uint32_t member, uint32_t operand) {
  sums_[member] = kernel_.expressions.input(operand, *lane_of_element(member_forms_[member].dtype));
}

const ExprValue& GroupBuilder::output(uint32_t index, uint32_t component) {
  return member(index, this->component(component));
}

const ExprValue& GroupBuilder::member(uint32_t index, const Path& path) {
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

uint32_t GroupBuilder::components_of(const GroupArgument& argument) const {
  switch (argument.source) {
    case GroupArgument::Source::kInput: return input_components_[argument.index];
    case GroupArgument::Source::kMember: return member_components_[argument.index];
    default: return 1;
  }
}

ExprValue GroupBuilder::folded(uint32_t index, const ops::GroupMember& member) {
  const LaneType type = *lane_of_element(member_forms_[index].dtype);
  if (fold_part_) {
    return fold_part_(index, kernels::convert_lanes(argument_value(member.arguments[0], {}), type));
  }
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

ExprValue GroupBuilder::multiplied(uint32_t index, const ops::GroupMember& member) {
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
      places.added && member.arguments[*places.added].source != GroupArgument::Source::kConstant &&
      !(is_scaled && member.arguments[kBeta].constant.to_scalar().to_double() == 0);
  if (is_added) {
    ExprValue added =
        kernels::convert_lanes(argument_value(member.arguments[*places.added], {}), value.type);
    if (is_scaled) added = scaled(added, kBeta);
    value = expr_binary(Opcode::kAdd, value.type, value, added);
  }
  return member_forms_[index].dtype == ScalarType::kBFloat16 ? rounded_to_bfloat(value) : value;
}

ScalarType GroupBuilder::scalar_type_of(LaneType type) {
  return type == LaneType::kF64 ? ScalarType::kDouble : ScalarType::kFloat;
}

ExprValue GroupBuilder::joined(const ops::GroupMember& member, const Path& path) {
  if (path != whole_) {
    kernel_.refusal = GroupRefusal::kViewedJoin;
    return kernels::expr_constant(LaneType::kF32, 0);
  }
  const GroupArgument& argument = member.arguments[part_];
  const bool is_input = argument.source == GroupArgument::Source::kInput;
  return is_input ? input(argument.index, {}) : this->member(argument.index, {});
}

const ExprValue& GroupBuilder::input(uint32_t index, const Path& path) {
  const auto known = inputs_.find({index, path});
  if (known != inputs_.end()) return known->second;
  return inputs_[{index, path}] = load(GroupArgument::Source::kInput, index, path);
}

ExprValue GroupBuilder::load(GroupArgument::Source source, uint32_t index, const Path& path) {
  const auto operand = static_cast<uint32_t>(program_.outputs.size() + kernel_.loads.size());
  kernel_.loads.push_back({source, index, path});
  return kernel_.expressions.input(operand, *lane_of_element(form_of(source, index).dtype));
}

const ValueForm& GroupBuilder::form_of(GroupArgument::Source source, uint32_t index) const {
  return source == GroupArgument::Source::kInput ? input_forms_[index] : member_forms_[index];
}

ExprValue GroupBuilder::made(const ops::GroupMember& member, const Path& path) {
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

ExprValue GroupBuilder::operand_of(const ops::GroupMember& member, const Path& path,
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

const ExprValue& GroupBuilder::argument_value(const GroupArgument& argument, const Path& path) {
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

ExprValue GroupBuilder::number_node(const Scalar& number, ScalarType type) {
  const ExprValue value = number_as(number, type);
  return kernel_.expressions.constant(value.type, value.bits);
}

}  // namespace tierup::codegen
