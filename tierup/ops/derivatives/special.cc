// Special functions.
#include <cmath>
#include <limits>

#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

constexpr double kRootTwoPi = 2.5066282746310002;

void entr(GradContext& c) {
  c.give(0, [&] { return grad(c) * (-1 * ones_like(arg(c, 0)) - log(arg(c, 0))); });
}
void erfcx(GradContext& c) {
  c.give(0, [&] { return grad(c) * (arg(c, 0) * result(c) * 2 - M_2_SQRTPI); });
}
void ndtr(GradContext& c) {
  c.give(0, [&] { return grad(c) * (exp(square(arg(c, 0)) * -0.5) * (1 / kRootTwoPi)); });
}
void ndtri(GradContext& c) {
  c.give(0, [&] { return grad(c) * (exp(square(result(c)) * 0.5) * kRootTwoPi); });
}
void log_ndtr(GradContext& c) {
  c.give(0, [&] {
    const Term tail = (arg(c, 0) * -M_SQRT1_2).then("aten::special_erfcx");
    return grad(c) / tail * std::sqrt(M_2_PI);
  });
}
void i0(GradContext& c) {
  c.give(0, [&] { return grad(c) * arg(c, 0).then("aten::special_i1"); });
}
void i0e(GradContext& c) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    return grad(c) * (x.then("aten::special_i1e") - sgn(x) * result(c));
  });
}
// The slope of a function whose value at x is divided by x: near 0 the limit. What is divided by
// there is a number, so that the second derivative, by what the slope is made of, is one as well.
template <typename F>
void divided_by_x(GradContext& c, F&& slope) {
  c.give(0, [&] {
    const Term x = arg(c, 0);
    const double eps = c.result_dtype() == ScalarType::kDouble
                           ? std::numeric_limits<double>::epsilon()
                           : static_cast<double>(std::numeric_limits<float>::epsilon());
    const Term tiny = at_most(abs(x), eps);
    return grad(c) * cleared(slope(cleared(x, tiny, eps)), tiny, 0.5);
  });
}
void i1(GradContext& c) {
  divided_by_x(c, [&](const Term& x) { return x.then("aten::special_i0") - result(c) / x; });
}
void i1e(GradContext& c) {
  divided_by_x(c, [&](const Term& x) {
    return x.then("aten::special_i0e") - result(c) * (sgn(x) + reciprocal(x));
  });
}

constexpr DerivativeRow kRows[] = {
    {"aten::special_entr", &entr},         {"aten::special_erfcx", &erfcx},
    {"aten::special_ndtr", &ndtr},         {"aten::special_ndtri", &ndtri},
    {"aten::special_log_ndtr", &log_ndtr}, {"aten::i0", &i0},
    {"aten::special_i0e", &i0e},           {"aten::special_i1", &i1},
    {"aten::special_i1e", &i1e},
};

}  // namespace

std::span<const DerivativeRow> special_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
