// Scalar bodies of elementary functions and activations. See scalar_bodies.h.
#pragma once

#include "tierup/kernels/pointwise/scalar_bodies.h"

namespace tierup::kernels::bodies {

TIERUP_UNARY_BODY(Exp, exp(x));
TIERUP_UNARY_BODY(Exp2, exp2(x));
TIERUP_UNARY_BODY(Expm1, expm1(x));
TIERUP_UNARY_BODY(Log, log(x));
TIERUP_UNARY_BODY(Log2, log2(x));
TIERUP_UNARY_BODY(Log10, log10(x));
TIERUP_UNARY_BODY(Log1p, log1p(x));
TIERUP_UNARY_BODY(Sin, sin(x));
TIERUP_UNARY_BODY(Cos, cos(x));
TIERUP_UNARY_BODY(Tan, tan(x));
TIERUP_UNARY_BODY(Asin, asin(x));
TIERUP_UNARY_BODY(Acos, acos(x));
TIERUP_UNARY_BODY(Atan, atan(x));
TIERUP_UNARY_BODY(Sinh, sinh(x));
TIERUP_UNARY_BODY(Cosh, cosh(x));
TIERUP_UNARY_BODY(Tanh, tanh(x));
TIERUP_UNARY_BODY(Asinh, asinh(x));
TIERUP_UNARY_BODY(Acosh, acosh(x));
TIERUP_UNARY_BODY(Atanh, atanh(x));
TIERUP_UNARY_BODY(Sigmoid, sigmoid(x));
TIERUP_UNARY_BODY(Erf, erf(x));
TIERUP_UNARY_BODY(Erfc, erfc(x));
TIERUP_BINARY_BODY(Pow, pow(a, b));
TIERUP_BINARY_BODY(Atan2, atan2(a, b));
TIERUP_BINARY_BODY(Hypot, hypot(a, b));

// sin(pi x) / (pi x), 1 at 0.
struct Sinc {
  static constexpr size_t kArity = 1;
  template <typename V>
  static TIERUP_INLINE V apply(V x) {
    const V angle = V(M_PI) * x;
    return select(x == V(0), V(1), V(sin(angle) / angle));
  }
};

// log(exp(a) + exp(b)) without overflow; equal infinities stay.
struct Logaddexp {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V a, V b) {
    const V high = max_nan(a, b);
    const V sum = high + log1p_of_part(exp(-abs(a - b)));
    return select((a == b) & (abs(a) == V(INFINITY)), a, sum);
  }
};
struct Logaddexp2 {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V a, V b) {
    const V high = max_nan(a, b);
    const V sum = high + log1p_of_part(exp2(-abs(a - b))) * V(1.4426950408889634);
    return select((a == b) & (abs(a) == V(INFINITY)), a, sum);
  }
};

// a * log(b), 0 where a is 0 unless b is NaN.
struct Xlogy {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V a, V b) {
    return select(b != b, b, select(a == V(0), V(0), V(a * log(b))));
  }
};
struct Xlog1py {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V a, V b) {
    return select(b != b, b, select(a == V(0), V(0), V(a * log1p(b))));
  }
};

// (x, eps): x is clamped to [eps, 1 - eps] first; a negative eps means no clamping.
struct Logit {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V eps) {
    const V top = V(1) - eps;
    const V inside = select(x < eps, eps, select(x > top, top, x));
    const V z = select(eps < V(0), x, inside);
    return log(z / (V(1) - z));
  }
};

TIERUP_UNARY_BODY(Relu, select(x < V(0), V(0), x));
TIERUP_UNARY_BODY(Silu, x* sigmoid(x));
TIERUP_UNARY_BODY(Hardsigmoid, min_nan(max_nan(V(x + V(3)), V(0)), V(6)) / V(6));
TIERUP_UNARY_BODY(Hardswish, V(x* min_nan(max_nan(V(x + V(3)), V(0)), V(6))) / V(6));
TIERUP_UNARY_BODY(LogSigmoid, V(min_nan(x, V(0)) - log1p_of_part(exp(-abs(x)))));
TIERUP_UNARY_BODY(GeluErf, V(V(0.5) * x) * (V(1) + erf_coarse(V(x * V(0.70710678118654752)))));

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3); (1 + tanh(u)) / 2 is sigmoid(2 u).
struct GeluTanh {
  static constexpr size_t kArity = 1;
  template <typename V>
  static TIERUP_INLINE V apply(V x) {
    const V cubic = V(x * x) * V(0.071354816272600248);
    return x * sigmoid(V(x * V(cubic + V(1.5957691216057308))));
  }
};

// x * tanh(log(1 + e^x)), written with n = e^x: tanh(log(1 + n)) = (n^2 + 2n) / (n^2 + 2n + 2).
struct Mish {
  static constexpr size_t kArity = 1;
  template <typename V>
  static TIERUP_INLINE V apply(V x) {
    const V n = exp(select(x > V(20), V(20), x));
    const V grown = n * (n + V(2));
    return select(x > V(20), x, V(x * (grown / (grown + V(2)))));
  }
};

// (x, alpha, scale, input_scale)
struct Elu {
  static constexpr size_t kArity = 4;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V alpha, V scale, V input_scale) {
    return select(x < V(0), V(expm1(x * input_scale) * (alpha * scale)), V(x * scale));
  }
};
// (x, slope)
TIERUP_BINARY_BODY(LeakyRelu, select(a > V(0), a, V(a* b)));
// (x, lambda)
TIERUP_BINARY_BODY(Softshrink, select(a > b, V(a - b), select(a < -b, V(a + b), V(a* V(0)))));
TIERUP_BINARY_BODY(Hardshrink, select((a >= -b) & (a <= b), V(0), a));
// (x, threshold, value)
TIERUP_TERNARY_BODY(Threshold, select(a <= b, c, a));
// (x, gate)
TIERUP_BINARY_BODY(Glu, V(a* sigmoid(b)));
// (x, beta, threshold)
struct Softplus {
  static constexpr size_t kArity = 3;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V beta, V threshold) {
    const V scaled = x * beta;
    const V sum = max_nan(scaled, V(0)) + log1p_of_part(exp(-abs(scaled)));
    return select(scaled > threshold, x, V(sum / beta));
  }
};

}  // namespace tierup::kernels::bodies
