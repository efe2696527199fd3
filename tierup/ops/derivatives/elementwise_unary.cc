// Functions of one tensor, element by element.
#include <cmath>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// The gradient times the conjugate of what kSlope makes of the argument and the result.
template <Term (*kSlope)(const Term& x)>
void by_argument(GradContext& c) {
  c.give(0, [&] { return grad(c) * kSlope(arg(c, 0)).conj(); });
}
template <Term (*kSlope)(const Term& y)>
void by_result(GradContext& c) {
  c.give(0, [&] { return grad(c) * kSlope(result(c)).conj(); });
}
// The gradient divided by it.
template <Term (*kDivisor)(const Term& x)>
void divided(GradContext& c) {
  c.give(0, [&] { return grad(c) / kDivisor(arg(c, 0)).conj(); });
}

Term one_less_square(const Term& x) { return 1 - square(x); }
Term square_plus_one(const Term& x) { return square(x) + 1; }
Term itself(const Term& x) { return x; }

void zero(GradContext& c) { c.give_zeros(0); }

void abs_formula(GradContext& c) {
  c.give(0, [&] { return grad(c) * sgn(arg(c, 0)); });
}

// Of complex numbers z: along z it does not change.
void sgn_formula(GradContext& c) {
  if (!c.is_complex(0)) return c.give_zeros(0);
  c.give(0, [&] {
    const Term size = abs(arg(c, 0));
    const Term y = result(c);
    const Term g = grad(c);
    const Term along = (g / y).then("aten::real");
    return cleared((g - along * y) / size, equal(size, 0.0));
  });
}

void angle(GradContext& c) {
  if (!c.is_complex(0)) return c.give_zeros(0);
  c.give(0, [&] {
    const Term z = arg(c, 0);
    const Term slope = z / square(abs(z)) * Scalar(complex128(0, 1));
    return cleared(grad(c) * slope, equal(z, 0.0));
  });
}

void acosh(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    if (!c.is_complex(0)) return grad(c) * rsqrt(square(x) - 1);
    return grad(c) / (sqrt(x - 1) * sqrt(x + 1)).conj();
  });
}
Term asin_slope(const Term& x) { return rsqrt(one_less_square(x)); }
Term acos_slope(const Term& x) { return -asin_slope(x); }
Term asinh_slope(const Term& x) { return rsqrt(square_plus_one(x)); }
Term cos_slope(const Term& x) { return -sin(x); }
Term cosh_slope(const Term& x) { return x.then("aten::sinh"); }
Term sinh_slope(const Term& x) { return x.then("aten::cosh"); }
Term reciprocal_slope(const Term& y) { return -square(y); }
Term rsqrt_slope(const Term& y) { return pow(y, 3) * -0.5; }
void sqrt_formula(GradContext& c) {
  c.give(0, [&] { return grad(c) / (result(c) * 2).conj(); });
}
Term exp2_slope(const Term& y) { return y * M_LN2; }
Term plus_one(const Term& y) { return y + 1; }
Term log10_divisor(const Term& x) { return x * M_LN10; }
Term log2_divisor(const Term& x) { return x * M_LN2; }
Term twice(const Term& x) { return x * 2; }
Term digamma(const Term& x) { return x.then("aten::digamma"); }
Term trigamma(const Term& x) { return call(x.context(), "aten::polygamma", 1, x); }
Term erf_slope(const Term& x) { return exp(-square(x)) * M_2_SQRTPI; }
Term erfc_slope(const Term& x) { return exp(-square(x)) * -M_2_SQRTPI; }
Term erfinv_slope(const Term& y) { return exp(square(y)) * (1 / M_2_SQRTPI); }

void constant_factor(GradContext& c, double factor) {
  c.give(0, [&] { return grad(c) * factor; });
}
void deg2rad(GradContext& c) { constant_factor(c, M_PI / 180); }
void rad2deg(GradContext& c) { constant_factor(c, 180 / M_PI); }
void neg(GradContext& c) {
  c.give(0, [&] { return -grad(c); });
}
void same(GradContext& c) {
  c.give(0, [&] { return grad(c); });
}

void sinc(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    const Term angle = x * M_PI;
    const Term slope = (angle * cos(angle) - sin(angle)) / (angle * x);
    return cleared(grad(c) * slope.conj(), equal(x, 0.0));
  });
}

void logit(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::logit_backward", arg(c, 0), c.value_of("eps")); });
}

void nan_to_num(GradContext& c) {
  c.give(0, [&] { return only(grad(c), arg(c, 0).then("aten::isfinite")); });
}

void polygamma(GradContext& c) {
  c.give(1, [&] { return grad(c) * call(c, "aten::polygamma", c.int_of(0) + 1, arg(c, 1)); });
}

// In place, the order stands behind.
void polygamma_in_place(GradContext& c) {
  c.give(0, [&] { return grad(c) * call(c, "aten::polygamma", c.int_of(1) + 1, arg(c, 0)); });
}

// The sum of p digammas, half a step apart.
void mvlgamma(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    Term slope = digamma(x);
    for (int64_t j = 1; j < c.int_of(1); ++j)
      slope = slope + digamma(x - 0.5 * static_cast<double>(j));
    return grad(c) * slope;
  });
}

// The mantissa is x / 2^exponent.
void frexp(GradContext& c) {
  c.give(0, [&] { return grad(c) / result(c, 1).then("aten::exp2"); });
}

constexpr DerivativeRow kRows[] = {
    {"aten::frexp.Tensor", &frexp, 0b10},
    {"aten::abs", &abs_formula},
    {"prim::abs", &abs_formula},
    {"aten::acos", &by_argument<&acos_slope>},
    {"aten::acosh", &acosh},
    {"aten::angle", &angle},
    {"aten::asin", &by_argument<&asin_slope>},
    {"aten::asinh", &by_argument<&asinh_slope>},
    {"aten::atan", &divided<&square_plus_one>},
    {"aten::atanh", &divided<&one_less_square>},
    {"aten::ceil", &zero},
    {"aten::floor", &zero},
    {"aten::round", &zero},
    {"aten::round.decimals", &zero},
    {"aten::trunc", &zero},
    {"aten::sign", &zero},
    {"aten::sgn", &sgn_formula},
    {"aten::cos", &by_argument<&cos_slope>},
    {"aten::cosh", &by_argument<&cosh_slope>},
    {"aten::deg2rad", &deg2rad},
    {"aten::rad2deg", &rad2deg},
    {"aten::digamma", &by_argument<&trigamma>},
    {"aten::erf", &by_argument<&erf_slope>},
    {"aten::erfc", &by_argument<&erfc_slope>},
    {"aten::erfinv", &by_result<&erfinv_slope>},
    {"aten::exp", &by_result<&itself>},
    {"aten::exp2", &by_result<&exp2_slope>},
    {"aten::expm1", &by_result<&plus_one>},
    {"aten::frac", &same},
    {"aten::lgamma", &by_argument<&digamma>},
    {"aten::log", &divided<&itself>},
    {"aten::log10", &divided<&log10_divisor>},
    {"aten::log1p", &divided<&plus_one>},
    {"aten::log2", &divided<&log2_divisor>},
    {"aten::logit", &logit},
    {"aten::mvlgamma", &mvlgamma},
    {"aten::nan_to_num", &nan_to_num},
    {"aten::neg", &neg},
    {"aten::polygamma", &polygamma},
    {"aten::polygamma_", &polygamma_in_place},
    {"aten::positive", &same},
    {"aten::reciprocal", &by_result<&reciprocal_slope>},
    {"aten::rsqrt", &by_result<&rsqrt_slope>},
    {"aten::sin", &by_argument<&cos>},
    {"aten::sinc", &sinc},
    {"aten::sinh", &by_argument<&sinh_slope>},
    {"aten::sqrt", &sqrt_formula},
    {"aten::square", &by_argument<&twice>},
    {"aten::tan", &by_result<&square_plus_one>},
    {"aten::special_round", &zero},
};

}  // namespace

std::span<const DerivativeRow> elementwise_unary_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
