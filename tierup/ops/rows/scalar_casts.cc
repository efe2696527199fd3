// Conversions between numbers, texts and one-element tensors: the language's int(), float(),
// bool(), complex() and str(), and the implicit conversions of tensors to number arguments.
#include <charconv>
#include <cmath>

#include "tierup/kernels/memory/cast.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/number_kernels.h"

namespace tierup::ops {
namespace {

// The number itself, or the one element of a tensor.
Scalar number_of(IValue& value) {
  if (!value.is_tensor()) return value.to_scalar();
  return IValue(detail::unbox_tensor(value)).to_scalar();
}

double real_of(IValue& value) { return number_of(value).to_double(); }

void int_of_number(OpCall& call) {
  call.results[0] = IValue(kernels::convert_number<int64_t>(number_of(call.args[0])));
}

// Of tensors and of numbers of unknown type: what an int does not reach, NaN too, is refused. A
// float is converted as the processor does.
void int_in_reach(OpCall& call) { call.results[0] = IValue(number_of(call.args[0]).to<int64_t>()); }

void float_of_number(OpCall& call) { call.results[0] = IValue(real_of(call.args[0])); }

void bool_of_number(OpCall& call) {
  if (call.args[0].is_tensor()) {
    const int64_t count = call.args[0].to_tensor().numel();
    require(count != 0, ErrorCode::kInvalidArgument,
            "Boolean value of Tensor with no values is ambiguous");
    require(count == 1, ErrorCode::kInvalidArgument,
            "Boolean value of Tensor with more than one value is ambiguous");
  }
  call.results[0] = IValue(number_of(call.args[0]).to_bool());
}

void complex_of_number(OpCall& call) {
  call.results[0] = IValue(number_of(call.args[0]).to_complex());
}

void complex_of_parts(OpCall& call) {
  const double real = real_of(call.args[0]);
  call.results[0] = IValue(complex128(real, real_of(call.args[1])));
}

// Without leading blanks and a plus sign, which from_chars does not take.
std::string_view number_text(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r'))) {
    text.remove_prefix(1);
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

void int_of_text(OpCall& call) {
  const std::string& whole = call.args[0].to_str();
  const std::string_view text = number_text(whole);
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  require(result.ec == std::errc() && result.ptr == text.data() + text.size(),
          ErrorCode::kInvalidArgument, "invalid literal for int() with base 10: '{}'", whole);
  call.results[0] = IValue(value);
}

void float_of_text(OpCall& call) {
  const std::string& whole = call.args[0].to_str();
  std::string_view text = number_text(whole);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  auto format = std::chars_format::general;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    format = std::chars_format::hex;
    text.remove_prefix(2);
  }
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, format);
  require(result.ec == std::errc() && result.ptr == text.data() + text.size() && text[0] != '-',
          ErrorCode::kInvalidArgument, "could not convert string to float: '{}'", whole);
  call.results[0] = IValue(negative ? -value : value);
}

// A tensor given where a number is wanted must be 0-dim and must not be differentiated.
Scalar implicit_number(IValue& value, bool to_int) {
  const Tensor tensor = detail::unbox_tensor(value);
  require(!tensor.requires_grad(), ErrorCode::kInvalidArgument,
          "Cannot input a tensor that requires grad as a scalar argument");
  require(tensor.dim() == 0, ErrorCode::kInvalidArgument,
          "Cannot input a tensor of dimension other than 0 as a scalar argument");
  const Scalar number = IValue(tensor).to_scalar();
  require(!to_int || number.is_int(), ErrorCode::kTypeError,
          "Cannot input a tensor of type {} as an integral argument",
          scalar_type_name(tensor.dtype()));
  return number;
}

void int_implicit(OpCall& call) {
  call.results[0] = IValue(implicit_number(call.args[0], true).to_int());
}
void float_implicit(OpCall& call) {
  call.results[0] = IValue(implicit_number(call.args[0], false).to_double());
}
void complex_implicit(OpCall& call) {
  call.results[0] = IValue(implicit_number(call.args[0], false).to_complex());
}
void scalar_implicit(OpCall& call) {
  call.results[0] = IValue(implicit_number(call.args[0], false));
}

void tensor_of_number(OpCall& call) {
  call.results[0] = IValue(Tensor::scalar(call.args[0].to_scalar()));
}

void text_of_value(OpCall& call) { call.results[0] = IValue(to_text(call.args[0])); }

void enum_name(OpCall& call) { call.results[0] = IValue(call.args[0].to_enum().name); }
void enum_value(OpCall& call) { call.results[0] = call.args[0].to_enum().value; }

void identity(OpCall& call) { call.results[0] = std::move(call.args[0]); }
void unwrap_optional(OpCall& call) {
  require(!call.args[0].is_none(), ErrorCode::kInvalidArgument, "Unwrapping null optional");
  identity(call);
}

constexpr OpRow kRows[] = {
    {"aten::Int.Tensor(Tensor a) -> int", &int_in_reach, ir::kMayRaise, &shapes::number_itself,
     facts(Fits::kNumber, OpKind::kSame)},
    {"aten::Int.bool(bool a) -> int", &int_of_number},
    {"aten::Int.float(float a) -> int", &int_of_number},
    {"aten::Int.Scalar(Scalar a) -> int", &int_in_reach, ir::kMayRaise},
    {"aten::Int.str(str a) -> int", &int_of_text, ir::kMayRaise},
    {"aten::Float.Tensor(Tensor a) -> float", &float_of_number, ir::kMayRaise},
    {"aten::Float.Scalar(Scalar a) -> float", &float_of_number, ir::kMayRaise},
    {"aten::Float.int(int a) -> float", &float_of_number},
    {"aten::Float.bool(bool a) -> float", &float_of_number},
    {"aten::Float.str(str a) -> float", &float_of_text, ir::kMayRaise},
    {"aten::Bool.Tensor(Tensor a) -> bool", &bool_of_number, ir::kMayRaise},
    {"aten::Bool.int(int a) -> bool", &bool_of_number},
    {"aten::Bool.float(float a) -> bool", &bool_of_number},
    {"aten::Complex.Scalar(Scalar a) -> complex", &complex_of_number, ir::kMayRaise},
    {"aten::Complex.Tensor_Tensor(Tensor a, Tensor b) -> complex", &complex_of_parts,
     ir::kMayRaise},
    {"aten::Complex.int_bool(int x, bool y) -> complex", &complex_of_parts},
    {"aten::Complex.bool_int(bool x, int y) -> complex", &complex_of_parts},
    {"aten::Complex.float_bool(float x, bool y) -> complex", &complex_of_parts},
    {"aten::Complex.bool_float(bool x, float y) -> complex", &complex_of_parts},
    {"aten::Complex.float_int(float x, int y) -> complex", &complex_of_parts},
    {"aten::Complex.int_float(int x, float y) -> complex", &complex_of_parts},
    {"aten::Complex.int_int(int x, int y) -> complex", &complex_of_parts},
    {"aten::Complex.bool_bool(bool x, bool y) -> complex", &complex_of_parts},
    {"aten::Complex.float_float(float x, float y) -> complex", &complex_of_parts},
    {"aten::Complex.Tensor_float(Tensor x, float y) -> complex", &complex_of_parts, ir::kMayRaise},
    {"aten::Complex.float_Tensor(float x, Tensor y) -> complex", &complex_of_parts, ir::kMayRaise},
    {"aten::Complex.Tensor_int(Tensor x, int y) -> complex", &complex_of_parts, ir::kMayRaise},
    {"aten::Complex.int_Tensor(int x, Tensor y) -> complex", &complex_of_parts, ir::kMayRaise},
    {"aten::Complex.Tensor_bool(Tensor x, bool y) -> complex", &complex_of_parts, ir::kMayRaise},
    {"aten::Complex.bool_Tensor(bool x, Tensor y) -> complex", &complex_of_parts, ir::kMayRaise},
    {"aten::IntImplicit(Tensor a) -> int", &int_implicit, ir::kMayRaise},
    {"aten::FloatImplicit(Tensor a) -> float", &float_implicit, ir::kMayRaise},
    {"aten::ComplexImplicit(Tensor a) -> complex", &complex_implicit, ir::kMayRaise},
    {"aten::ScalarImplicit(Tensor a) -> Scalar", &scalar_implicit, ir::kMayRaise},
    {"prim::NumToTensor.Scalar(Scalar a) -> Tensor", &tensor_of_number, ir::kNoEffect,
     &shapes::number_itself, facts(Fits::kNumber, OpKind::kSame)},
    {"prim::NumToTensor.bool(bool a) -> Tensor", &tensor_of_number},
    {"aten::str(t elem) -> str", &text_of_value},
    {"prim::EnumName(AnyEnumType enum) -> str", &enum_name},
    {"prim::EnumValue.int(AnyEnumType enum) -> int", &enum_value},
    {"prim::EnumValue.float(AnyEnumType enum) -> float", &enum_value},
    {"prim::EnumValue.str(AnyEnumType enum) -> str", &enum_value},
    {"aten::_unwrap_optional(t(a)? optional) -> t(a)", &unwrap_optional, ir::kMayRaise, nullptr,
     facts(Role::kUnwrapOptional)},
    {"prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", &identity},
    {"prim::unchecked_cast(t x) -> t", &identity},
};

}  // namespace

std::span<const OpRow> scalar_casts_rows() { return kRows; }

}  // namespace tierup::ops
