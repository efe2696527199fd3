#include "tierup/kernels/pointwise/pointwise_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/parameter_fit.h"

namespace tierup::kernels {
namespace {

ScalarType dtype_of(const Operand& operand) {
  return operand.is_tensor() ? operand.tensor.dtype() : operand.number.dtype();
}

void check_alpha(const PointwiseOp& op, Operands promoted, const Scalar& alpha) {
  const ScalarType common = common_dtype(op, promoted);
  require(common == ScalarType::kBool || !alpha.is_bool(), ErrorCode::kInvalidArgument,
          "Boolean alpha only supported for Boolean results.");
  require(is_floating(common) || is_complex(common) || alpha.is_integral(true),
          ErrorCode::kInvalidArgument,
          "For integral input tensors, argument alpha must not be a floating point number.");
  require(is_complex(common) || !alpha.is_complex(), ErrorCode::kInvalidArgument,
          "For non-complex input tensors, argument alpha must not be a complex number.");
}

bool is_one(const Scalar& number) {
  return number == Scalar(1.0) || number == Scalar(true) || number == Scalar(complex128(1));
}

PointwiseCall add_or_sub(Body plain, Body scaled, Operand self, Operand other,
                         const Scalar& alpha) {
  PointwiseCall call = describe_call({plain}, std::move(self), std::move(other));
  if (alpha.is_int() && alpha.to_int() == 1) return call;
  check_alpha(call.op, call.inputs(), alpha);
  if (is_one(alpha)) return call;
  call.op = {scaled, Promote::kSame, 2};
  call.operands.push_back(alpha);
  return call;
}

void check_no_bools(const Operand& self, const Operand& other) {
  require(dtype_of(self) != ScalarType::kBool || dtype_of(other) != ScalarType::kBool,
          ErrorCode::kUnsupported,
          "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
          "`logical_xor()` operator instead.");
  require(dtype_of(self) != ScalarType::kBool && dtype_of(other) != ScalarType::kBool,
          ErrorCode::kUnsupported,
          "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
          "to invert a mask, use the `~` or `logical_not()` operator instead.");
}

// self * 2^exponent without a power in between that could overflow.
Tensor scaled(const Tensor& self, const Tensor& exponent) {
  const ScalarType work = work_type(self.dtype());
  const Tensor out = Tensor::empty(broadcast_shapes(self.sizes(), exponent.sizes()), work);
  dispatch_work(work, "ldexp", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    map_elements<T, T, int64_t>(
        out,
        [](T x, int64_t e) {
          return std::ldexp(x, static_cast<int>(std::clamp<int64_t>(e, -100000, 100000)));
        },
        to_dtype(self, work), to_dtype(exponent, ScalarType::kLong));
  });
  return to_dtype(out, self.dtype());
}

}  // namespace

PointwiseCall add(Operand self, Operand other, const Scalar& alpha) {
  return add_or_sub(Body::kAdd, Body::kAddScaled, std::move(self), std::move(other), alpha);
}

PointwiseCall sub(Operand self, Operand other, const Scalar& alpha) {
  check_no_bools(self, other);
  return add_or_sub(Body::kSub, Body::kSubScaled, std::move(self), std::move(other), alpha);
}

PointwiseCall rsub(Operand self, Operand other, const Scalar& alpha) {
  return sub(std::move(other), std::move(self), alpha);
}

PointwiseCall div_mode(const Operand& self, const Operand& other,
                       std::optional<std::string_view> mode) {
  if (!mode) return {{Body::kDiv, Promote::kFloating}, {self, other}};
  if (*mode == "floor") return {{Body::kDivFloor}, {self, other}};
  require(*mode == "trunc", ErrorCode::kInvalidArgument,
          "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{}'",
          *mode);
  const std::array<Operand, 2> operands{self, other};
  const ScalarType common = common_dtype({Body::kDivTrunc}, operands);
  if (common == ScalarType::kHalf || common == ScalarType::kBFloat16) {
    // The quotient is rounded to the narrow type before it is truncated.
    return {{Body::kTrunc}, {pointwise({Body::kDiv}, operands)}};
  }
  return {{Body::kDivTrunc}, {self, other}};
}

PointwiseCall pow(const Operand& self, const Operand& exponent) {
  PointwiseCall call{{Body::kPow}, {self, exponent}};
  const ScalarType common = common_dtype(call.op, call.inputs());
  if (exponent.is_tensor()) return call;
  const Scalar& power = exponent.number;
  if (is_integral(common, true)) {
    require(power.to_int() >= 0, ErrorCode::kInvalidArgument,
            "Integers to negative integer powers are not allowed.");
  }
  if (!is_complex(common) && common != ScalarType::kBool) check_element(power, common);
  if (power.is_complex() || common == ScalarType::kBool) return call;
  const double value = power.to_double();
  const auto unary = [&](Body body) {
    return PointwiseCall{{body, Promote::kSame, 0, common}, {self}};
  };
  if (value == 2.0) return unary(Body::kSquare);
  if (value == 3.0) return unary(Body::kCube);
  if (is_integral(common, true)) return call;
  if (value == 0.5) return unary(Body::kSqrt);
  if (value == -0.5) return unary(Body::kRsqrt);
  if (value == -1.0) return unary(Body::kReciprocal);
  return call;
}

PointwiseCall square(const Tensor& self) { return pow(self, Scalar(2)); }

namespace {

// A number beyond the integers of a dtype bounds none of them, or is refused if it leaves none.
Operand fitting_bound(const Operand& bound, ScalarType common, bool is_lower) {
  if (bound.is_tensor() || !is_integral(common, false)) return bound;
  const int64_t value = bound.number.to_int();
  return dispatch_integral(common, "clamp", [&](auto tag) -> Operand {
    using T = typename decltype(tag)::type;
    const auto lowest = static_cast<int64_t>(std::numeric_limits<T>::lowest());
    const auto highest = static_cast<int64_t>(std::numeric_limits<T>::max());
    require(is_lower ? value <= highest : value >= lowest, ErrorCode::kInvalidArgument,
            "Clamp {} value {} is outside the representable range of {}", is_lower ? "min" : "max",
            value, scalar_type_name(common));
    return Scalar(is_lower ? std::max(value, lowest) : std::min(value, highest));
  });
}

PointwiseCall with_fitting_bounds(PointwiseCall call, bool has_lower) {
  const ScalarType common = common_dtype(call.op, call.inputs());
  call.operands[1] = fitting_bound(call.operands[1], common, has_lower);
  if (call.operands.size() > 2) call.operands[2] = fitting_bound(call.operands[2], common, false);
  return call;
}

}  // namespace

PointwiseCall clamp_min(const Tensor& self, const Operand& min) {
  return with_fitting_bounds({{Body::kMaximum}, {self, min}}, true);
}

PointwiseCall clamp_max(const Tensor& self, const Operand& max) {
  return with_fitting_bounds({{Body::kMinimum}, {self, max}}, false);
}

PointwiseCall clamp(const Tensor& self, const std::optional<Operand>& min,
                    const std::optional<Operand>& max) {
  const auto given = [](const std::optional<Operand>& bound) { return bound.has_value(); };
  require(given(min) || given(max), ErrorCode::kInvalidArgument,
          "torch.clamp: At least one of 'min' or 'max' must not be None");
  require(!is_complex(self.dtype()), ErrorCode::kUnsupported,
          "clamp is not supported for complex types");
  if (given(min) && given(max)) {
    return with_fitting_bounds({{Body::kClamp}, {self, *min, *max}}, true);
  }
  return given(min) ? clamp_min(self, *min) : clamp_max(self, *max);
}

PointwiseCall hardtanh(const Tensor& self, const Scalar& min, const Scalar& max) {
  require(self.dtype() != ScalarType::kBool, ErrorCode::kUnsupported,
          "Bool inputs not supported for hardtanh");
  return with_fitting_bounds({{Body::kClamp, Promote::kSame, 1}, {self, min, max}}, true);
}

PointwiseCall relu6(const Tensor& self) { return hardtanh(self, 0, 6); }

PointwiseCall where(const Tensor& condition, const Operand& self, const Operand& other) {
  require(condition.dtype() == ScalarType::kBool || condition.dtype() == ScalarType::kByte,
          ErrorCode::kTypeError,
          "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
          scalar_type_name(condition.dtype()));
  const std::array<Operand, 2> values{self, other};
  const ScalarType common = common_dtype({Body::kWhere}, values);
  return {{Body::kWhere, Promote::kSame, 0, common}, {condition, self, other}};
}

PointwiseCall masked_fill(const Tensor& self, const Tensor& mask, const Operand& value) {
  require(mask.dtype() == ScalarType::kBool, ErrorCode::kTypeError,
          "masked_fill_ only supports boolean masks, but got mask with dtype {}",
          dtype_name(mask.dtype()));
  require(!value.is_tensor() || value.tensor.dim() == 0, ErrorCode::kInvalidArgument,
          "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} "
          "dimension(s).",
          value.is_tensor() ? value.tensor.dim() : 0);
  if (!value.is_tensor()) check_element(value.number, self.dtype());
  return {{Body::kWhere, Promote::kSame, 0, self.dtype()}, {mask, value, self}};
}

Tensor ldexp(const Tensor& self, const Tensor& other) {
  if (is_floating(self.dtype()) && is_integral(other.dtype(), false)) return scaled(self, other);
  const Tensor power = pointwise({Body::kPow}, {Operand(Scalar(2.0)), Operand(other)});
  return pointwise({Body::kMul}, {Operand(self), Operand(power)});
}

PointwiseCall addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                      const Scalar& value) {
  require(!is_integral(tensor1.dtype(), true) || !is_integral(tensor2.dtype(), true),
          ErrorCode::kUnsupported,
          "Integer division with addcdiv is no longer supported; use floating point tensors");
  return {{Body::kAddcdiv, Promote::kSame, 3}, {self, tensor1, tensor2, value}};
}

PointwiseCall lerp(const Tensor& self, const Tensor& end, const Operand& weight) {
  require(self.dtype() == end.dtype(), ErrorCode::kTypeError,
          "expected dtype {} for `end` but got dtype {}", dtype_name(self.dtype()),
          dtype_name(end.dtype()));
  require(!weight.is_tensor() || weight.tensor.dtype() == self.dtype() || weight.tensor.dim() == 0,
          ErrorCode::kTypeError, "expected dtype {} for `weight` but got dtype {}",
          dtype_name(self.dtype()), dtype_name(dtype_of(weight)));
  return {{Body::kLerp, Promote::kSame, 1}, {self, end, weight}};
}

PointwiseCall heaviside(const Tensor& self, const Tensor& values) {
  require(self.dtype() == values.dtype(), ErrorCode::kTypeError,
          "heaviside is not yet implemented for tensors with different dtypes.");
  return {{Body::kHeaviside}, {self, values}};
}

PointwiseCall neg(const Tensor& self) {
  require(self.dtype() != ScalarType::kBool, ErrorCode::kUnsupported,
          "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
          "invert a mask, use the `~` or `logical_not()` operator instead.");
  return {{Body::kNeg}, {self}};
}

PointwiseCall sgn(const Tensor& self) {
  return {{is_complex(self.dtype()) ? Body::kSgn : Body::kSign}, {self}};
}

PointwiseCall deg2rad(const Tensor& self) {
  return {{Body::kMul, Promote::kFloating, 1}, {self, Scalar(M_PI / 180)}};
}

PointwiseCall rad2deg(const Tensor& self) {
  return {{Body::kMul, Promote::kFloating, 1}, {self, Scalar(180 / M_PI)}};
}

PointwiseCall round_decimals(const Tensor& self, int64_t decimals) {
  if (decimals == 0) return {{Body::kRound}, {self}};
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const Body body = decimals > 0 ? Body::kRoundScaled : Body::kRoundDivided;
  return {{body, Promote::kSame, 1}, {self, Scalar(scale)}};
}

PointwiseCall nan_to_num(const Tensor& self, std::optional<double> nan,
                         std::optional<double> positive, std::optional<double> negative) {
  double top = std::numeric_limits<double>::max();
  const ScalarType real = real_type_of(self.dtype());
  if (real == ScalarType::kFloat) top = std::numeric_limits<float>::max();
  if (self.dtype() == ScalarType::kHalf) top = 65504;
  if (self.dtype() == ScalarType::kBFloat16) top = 3.3895313892515355e+38;
  if (is_integral(self.dtype(), true)) top = 0;
  return {{Body::kNanToNum, Promote::kSame, 1},
          {self, Scalar(nan.value_or(0.0)), Scalar(positive.value_or(top)),
           Scalar(negative.value_or(-top))}};
}

PointwiseCall polygamma(int64_t n, const Tensor& self) {
  require(n >= 0, ErrorCode::kInvalidArgument, "polygamma(n, x) does not support negative n.");
  const ScalarType common = to_floating(self.dtype());
  return {{Body::kPolygamma, Promote::kSame, 0, common}, {Scalar(n), self}};
}

Tensor mvlgamma(const Tensor& self, int64_t p) {
  require(self.dtype() != ScalarType::kBool, ErrorCode::kInvalidArgument,
          "mvlgamma: boolean tensors are not supported");
  require(p >= 1, ErrorCode::kInvalidArgument, "p has to be greater than or equal to 1");
  const PointwiseOp shifted{Body::kAdd, Promote::kFloating, 1};
  Tensor sum = pointwise(shifted, {self, Operand(Scalar(0.0))});
  const ScalarType common = sum.dtype();
  fill(sum, Scalar(static_cast<double>(p) * static_cast<double>(p - 1) / 4 * std::log(M_PI)));
  for (int64_t i = 0; i < p; ++i) {
    poll_interrupt();
    const Tensor x = pointwise(shifted, {self, Operand(Scalar(-0.5 * static_cast<double>(i)))});
    pointwise_into(sum, {Body::kAdd, Promote::kSame, 0, common},
                   {sum, pointwise({Body::kLgamma}, {x})});
  }
  return sum;
}

namespace {

// std::frexp by bits, without branches; zeros, infinities and NaN are their own mantissas.
template <typename Real>
struct SplitNumber {
  using Bits = std::conditional_t<sizeof(Real) == 4, int32_t, int64_t>;
  static constexpr int kDigits = std::numeric_limits<Real>::digits - 1;
  static constexpr Bits kExponents = (Bits{1} << (8 * sizeof(Real) - 1 - kDigits)) - 1;

  explicit SplitNumber(Real x) {
    // Subnormal numbers are scaled up first.
    const bool is_tiny = std::abs(x) < std::numeric_limits<Real>::min();
    constexpr Real kUp = Real{1} / std::numeric_limits<Real>::epsilon();
    const Bits bits = std::bit_cast<Bits>(is_tiny ? x * kUp : x);
    const Bits field = (bits >> kDigits) & kExponents;
    const bool has_none = field == 0 || field == kExponents;
    const Bits half = (bits & ~(kExponents << kDigits)) | ((kExponents / 2 - 1) << kDigits);
    mantissa = has_none ? x : std::bit_cast<Real>(half);
    const Bits whole = field - (kExponents / 2 - 1) - (is_tiny ? kDigits : 0);
    exponent = has_none ? 0 : static_cast<int32_t>(whole);
  }

  Real mantissa;
  int32_t exponent;
};

}  // namespace

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  const Tensor mantissa = empty_like(self, self.dtype());
  const Tensor exponent = empty_like(self, ScalarType::kInt);
  dispatch_floating(self.dtype(), "frexp", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    map_elements<T, T>(
        mantissa, [](T x) { return static_cast<T>(SplitNumber(static_cast<Real>(x)).mantissa); },
        self);
    map_elements<int32_t, T>(
        exponent, [](T x) { return SplitNumber(static_cast<Real>(x)).exponent; }, self);
  });
  return {mantissa, exponent};
}

PointwiseCall logit(const Tensor& self, std::optional<double> eps) {
  return {{Body::kLogit, Promote::kFloating, 1}, {self, Scalar(eps.value_or(-1.0))}};
}

}  // namespace tierup::kernels
