// Point-wise operators that need more than one body and its promotion: the choice of a body by
// arguments, optional arguments, checks. Each returns a description to be evaluated (pointwise.h).
#pragma once

#include <string_view>
#include <tuple>

#include "tierup/kernels/pointwise/pointwise.h"

namespace tierup::kernels {

// self + alpha * other, and the differences. Throws kInvalidArgument for a floating alpha with
// integer operands, and for a difference of bools. Follow: add, sub, rsub.
PointwiseCall add(Operand self, Operand other, const Scalar& alpha);
PointwiseCall sub(Operand self, Operand other, const Scalar& alpha);
PointwiseCall rsub(Operand self, Operand other, const Scalar& alpha);

// True division, or rounded as `mode` says ("trunc", "floor"). Follows: div.Tensor_mode.
PointwiseCall div_mode(const Operand& self, const Operand& other,
                       std::optional<std::string_view> mode);

// self ^ exponent; small constant exponents become products and roots. Follows: pow.
PointwiseCall pow(const Operand& self, const Operand& exponent);
PointwiseCall square(const Tensor& self);

// self within [min, max], either of which may be missing; both missing is an error.
// Follows: clamp, clamp_min, clamp_max, clip; hardtanh, relu6.
PointwiseCall clamp(const Tensor& self, const std::optional<Operand>& min,
                    const std::optional<Operand>& max);
PointwiseCall clamp_min(const Tensor& self, const Operand& min);
PointwiseCall clamp_max(const Tensor& self, const Operand& max);
PointwiseCall hardtanh(const Tensor& self, const Scalar& min, const Scalar& max);
PointwiseCall softshrink(const Tensor& self, const Scalar& lambda);
PointwiseCall heaviside(const Tensor& self, const Tensor& values);
PointwiseCall relu6(const Tensor& self);

// condition ? self : other. The condition is bool (or uint8). Follows: where.self.
PointwiseCall where(const Tensor& condition, const Operand& self, const Operand& other);
// self with `value` where the mask is set, in self's dtype. Follows: masked_fill.
PointwiseCall masked_fill(const Tensor& self, const Tensor& mask, const Operand& value);

// self * 2^other. Follows: ldexp.
Tensor ldexp(const Tensor& self, const Tensor& other);
PointwiseCall addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                      const Scalar& value);
PointwiseCall lerp(const Tensor& self, const Tensor& end, const Operand& weight);

// The n-th derivative of digamma; the multivariate log-gamma of dimension p.
PointwiseCall polygamma(int64_t n, const Tensor& self);
Tensor mvlgamma(const Tensor& self, int64_t p);
// Mantissa in [0.5, 1) and int32 exponent. Throws kUnsupported for integers.
std::tuple<Tensor, Tensor> frexp(const Tensor& self);

PointwiseCall neg(const Tensor& self);
PointwiseCall sgn(const Tensor& self);
PointwiseCall deg2rad(const Tensor& self);
PointwiseCall rad2deg(const Tensor& self);
PointwiseCall round_decimals(const Tensor& self, int64_t decimals);
PointwiseCall nan_to_num(const Tensor& self, std::optional<double> nan,
                         std::optional<double> positive, std::optional<double> negative);
PointwiseCall logit(const Tensor& self, std::optional<double> eps);

// Log-sigmoid, and exp(-|self|) for its derivative. Follows: log_sigmoid_forward.
std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self);
PointwiseCall gelu(const Tensor& self, std::string_view approximate);
PointwiseCall celu(const Tensor& self, const Scalar& alpha);
PointwiseCall selu(const Tensor& self);
// Scales negative elements by the weight of their channel (dimension 1). Follows: prelu.
PointwiseCall prelu(const Tensor& self, const Tensor& weight);
PointwiseCall prelu_kernel(const Tensor& self, const Tensor& weight);
// First half of `dim` times the sigmoid of the second. Throws kInvalidArgument for an odd size.
PointwiseCall glu(const Tensor& self, int64_t dim);

// |self - other| <= atol + rtol * |other|. Follows: isclose.
Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan);
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan);
// Same shape and equal elements. Follows: equal.
bool equal(const Tensor& self, const Tensor& other);
// Whether all elements of a bool tensor are true.
bool all_true(const Tensor& flags);

}  // namespace tierup::kernels
