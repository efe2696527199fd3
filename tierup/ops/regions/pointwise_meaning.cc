#include "tierup/ops/regions/pointwise_meaning.h"

#include <fmt/format.h>

#include "tierup/kernels/pointwise/parameter_fit.h"

namespace tierup::ops {
namespace {

Tensor stand_in(const ValueForm& form) {
  if (form.category == PromotionCategory::kDimensioned) {
    const int64_t size = 1;
    return Tensor::empty({&size, 1}, form.dtype);
  }
  Tensor tensor = Tensor::scalar(Scalar(int64_t{0}), form.dtype);
  tensor.impl()->wrapped_number = form.category == PromotionCategory::kWrapped;
  return tensor;
}

bool is_reduced(ScalarType type) {
  return type == ScalarType::kHalf || type == ScalarType::kBFloat16;
}

// The body's operands as arguments of the call; false if one is neither a number nor an argument
// as it was given.
bool find_operands(const kernels::PointwiseCall& call, const std::vector<Tensor>& given,
                   PointwiseMeaning& meaning) {
  for (const kernels::Operand& operand : call.operands) {
    if (!operand.is_tensor()) {
      meaning.operands.emplace_back(operand.number);
      continue;
    }
    size_t index = 0;
    while (index < given.size() && !given[index].is_same(operand.tensor)) ++index;
    if (index == given.size()) return false;
    meaning.operands.emplace_back(index);
  }
  return true;
}

PromotionCategory category_of(const std::vector<MeaningArgument>& arguments) {
  for (const MeaningArgument& argument : arguments) {
    if (argument.tensor && argument.tensor->category == PromotionCategory::kDimensioned) {
      return PromotionCategory::kDimensioned;
    }
  }
  return PromotionCategory::kZeroDim;
}

// Whether an argument can be brought to what the body computes in.
bool converts(ScalarType from, ScalarType to, const PointwiseMeaning& meaning) {
  if (!has_lanes(from)) return false;
  // It would first be rounded to the common dtype.
  if (is_reduced(meaning.common) && from != meaning.common && from != ScalarType::kFloat &&
      to == ScalarType::kFloat) {
    return false;
  }
  return !(is_floating(from) && is_integral(to, false));
}

void describe(const Op& op, const std::vector<MeaningArgument>& arguments,
              PointwiseMeaning& meaning) {
  std::vector<Tensor> given(arguments.size());
  std::vector<IValue> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].tensor) given[i] = stand_in(*arguments[i].tensor);
    values.push_back(arguments[i].tensor ? IValue(given[i]) : arguments[i].value);
  }
  RunContext context;
  OpCall call{values, {}, context};
  const kernels::PointwiseCall described = op.body()->describe(call);
  if (!find_operands(described, given, meaning)) {
    meaning.refusal = GroupRefusal::kOtherOperands;
    return;
  }
  meaning.body = described.op.body;
  meaning.common = kernels::common_dtype(described.op, described.inputs());
  kernels::check_parameters(meaning.body, meaning.common, described.inputs());
  meaning.compute = is_reduced(meaning.common) ? ScalarType::kFloat : meaning.common;
  const kernels::Variant* variant =
      meaning.compute <= ScalarType::kBool
          ? kernels::RunTable::instance().find(meaning.body, meaning.compute)
          : nullptr;
  if (variant == nullptr) {
    meaning.refusal = {GroupRefusal::kNoExpression,
                       fmt::format("{} is not defined for {}", kernels::body_name(meaning.body),
                                   scalar_type_name(meaning.common))};
    return;
  }
  const bool stays_reduced = is_reduced(meaning.common) && variant->out == ScalarType::kFloat;
  meaning.result = {stays_reduced ? meaning.common : variant->out, category_of(arguments)};
  meaning.build = kernels::ExpressionTable::instance().find(meaning.body, meaning.compute);
  if (meaning.build == nullptr || !has_lanes(meaning.result.dtype)) {
    meaning.refusal = {GroupRefusal::kNoExpression,
                       fmt::format("{} of {}", kernels::body_name(meaning.body),
                                   scalar_type_name(meaning.common))};
    return;
  }
  for (size_t k = 0; k < meaning.operands.size(); ++k) {
    const auto* index = std::get_if<size_t>(&meaning.operands[k]);
    if (index == nullptr) continue;
    const ScalarType from = arguments[*index].tensor->dtype;
    if (!converts(from, variant->in[k], meaning)) {
      meaning.refusal = {GroupRefusal::kNoExpression,
                         fmt::format("a conversion of {}", scalar_type_name(from))};
    }
  }
}

}  // namespace

bool has_lanes(ScalarType dtype) {
  return dtype == ScalarType::kBFloat16 || kernels::lane_type(dtype).has_value();
}

ValueForm form_of(const TensorImpl& tensor) {
  if (tensor.wrapped_number) return {tensor.dtype, PromotionCategory::kWrapped};
  return {tensor.dtype,
          tensor.sizes.size() == 0 ? PromotionCategory::kZeroDim : PromotionCategory::kDimensioned};
}

PointwiseMeaning meaning_of(const Op& op, const std::vector<MeaningArgument>& arguments) {
  PointwiseMeaning meaning;
  try {
    describe(op, arguments, meaning);
  } catch (const Error& error) {
    meaning.refusal = {GroupRefusal::kRaises, error.message()};
  }
  return meaning;
}

}  // namespace tierup::ops
