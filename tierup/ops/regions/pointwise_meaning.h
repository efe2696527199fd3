// What a call of a point-wise row means for arguments of known dtypes: which body, in which type.
//
// It is asked of the row itself, by describing a call on stand-ins for the tensors, so promotion,
// defaults and the choice of bodies are stated nowhere else.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tierup/kernels/pointwise/expression_table.h"
#include "tierup/ops/regions/refusal.h"
#include "tierup/ops/rows/pointwise_rows.h"

namespace tierup::ops {

// What type promotion knows of a tensor.
enum class PromotionCategory : uint8_t {
  kDimensioned,
  kZeroDim,
  kWrapped,  // From a number.
};
struct ValueForm {
  ScalarType dtype = ScalarType::kFloat;
  PromotionCategory category = PromotionCategory::kDimensioned;
  friend bool operator==(const ValueForm&, const ValueForm&) = default;
};
// Whether values of this dtype travel in lanes of compiled code.
bool has_lanes(ScalarType dtype);
// The form of a real tensor.
ValueForm form_of(const TensorImpl& tensor);

// An argument: a tensor of some form, or a known value.
struct MeaningArgument {
  std::optional<ValueForm> tensor;
  IValue value;
};

struct PointwiseMeaning {
  Body body{};
  ScalarType common{};   // What the operator computes in, before f16 and bf16 become f32.
  ScalarType compute{};  // What its body computes in.
  ValueForm result;
  kernels::ExpressionBuild build = nullptr;
  // Of the body's operands: the index of an argument, or a number.
  std::vector<std::variant<size_t, Scalar>> operands;
  // Why no machine code can be made of it, if none can.
  RefusedGroup refusal;
};

// Of a call of `op`, whose row must have a body.
PointwiseMeaning meaning_of(const Op& op, const std::vector<MeaningArgument>& arguments);

}  // namespace tierup::ops
