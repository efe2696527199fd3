// Scalar bodies of arithmetic and comparison: what each point-wise operator means for one element.
//
// A body is written over any value type V that has the vocabulary of scalar_lane.h: plain numbers,
// vectors of lanes (simd.h), and, for code generation, expressions. Constants are spelled V(c),
// choices select(condition, yes, no), so that one text serves all.
#pragma once

#include "tierup/kernels/simd/scalar_lane.h"

namespace tierup::kernels::bodies {

// NaN in either operand wins, as in torch.maximum and minimum.
template <typename V>
TIERUP_INLINE V max_nan(V a, V b) {
  return select((a > b) | (a != a), a, b);
}
template <typename V>
TIERUP_INLINE V min_nan(V a, V b) {
  return select((a < b) | (a != a), a, b);
}

#define TIERUP_UNARY_BODY(name, expression) \
  struct name {                             \
    static constexpr size_t kArity = 1;     \
    template <typename V>                   \
    static TIERUP_INLINE auto apply(V x) {  \
      return expression;                    \
    }                                       \
  }
#define TIERUP_BINARY_BODY(name, expression)    \
  struct name {                                 \
    static constexpr size_t kArity = 2;         \
    template <typename V>                       \
    static TIERUP_INLINE auto apply(V a, V b) { \
      return expression;                        \
    }                                           \
  }
#define TIERUP_TERNARY_BODY(name, expression)        \
  struct name {                                      \
    static constexpr size_t kArity = 3;              \
    template <typename V>                            \
    static TIERUP_INLINE auto apply(V a, V b, V c) { \
      return expression;                             \
    }                                                \
  }

TIERUP_UNARY_BODY(Neg, V(-x));
TIERUP_UNARY_BODY(Abs, abs(x));
TIERUP_UNARY_BODY(Sign, select(x > V(0), V(1), select(x < V(0), V(-1), V(0))));
TIERUP_UNARY_BODY(Square, V(x* x));
TIERUP_UNARY_BODY(Cube, V(x* x* x));
TIERUP_UNARY_BODY(Reciprocal, V(1) / x);
TIERUP_UNARY_BODY(Floor, floor(x));
TIERUP_UNARY_BODY(Ceil, ceil(x));
TIERUP_UNARY_BODY(Trunc, trunc(x));
TIERUP_UNARY_BODY(Round, round_even(x));
TIERUP_UNARY_BODY(Frac, x - trunc(x));
TIERUP_UNARY_BODY(Sqrt, sqrt(x));
TIERUP_UNARY_BODY(Rsqrt, V(1) / sqrt(x));

TIERUP_BINARY_BODY(Add, V(a + b));
TIERUP_BINARY_BODY(Sub, V(a - b));
TIERUP_BINARY_BODY(Mul, V(a* b));
TIERUP_BINARY_BODY(Div, V(a / b));
TIERUP_BINARY_BODY(DivTrunc, trunc(a / b));
TIERUP_BINARY_BODY(Maximum, max_nan(a, b));
TIERUP_BINARY_BODY(Minimum, min_nan(a, b));
// A NaN loses against a number.
TIERUP_BINARY_BODY(Fmax, select((a > b) | (b != b), a, b));
TIERUP_BINARY_BODY(Fmin, select((a < b) | (b != b), a, b));
TIERUP_BINARY_BODY(Copysign, copysign(a, b));
TIERUP_BINARY_BODY(Heaviside, select(a == V(0), b, select(a > V(0), V(1), V(0))));

// (a, b, alpha)
TIERUP_TERNARY_BODY(AddScaled, V(a + V(c * b)));
TIERUP_TERNARY_BODY(SubScaled, V(a - V(c * b)));
// (x, lower, upper); a NaN anywhere wins.
TIERUP_TERNARY_BODY(Clamp, min_nan(max_nan(a, b), c));
// (start, end, weight): from the nearer end, so that weight 1 gives `end` exactly.
TIERUP_TERNARY_BODY(Lerp, select(abs(c) < V(0.5), V(a + c * (b - a)), V(b - (b - a) * (V(1) - c))));
// (x, 10^decimals): round to decimals >= 0; RoundDivided: (x, 10^-decimals).
TIERUP_BINARY_BODY(RoundScaled, round_even(a* b) / b);
TIERUP_BINARY_BODY(RoundDivided, round_even(a / b) * b);

// (x, value1, value2, scale)
struct Addcmul {
  static constexpr size_t kArity = 4;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V a, V b, V scale) {
    return V(x + V(V(scale * a) * b));
  }
};
struct Addcdiv {
  static constexpr size_t kArity = 4;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V a, V b, V scale) {
    return V(x + V(V(scale * a) / b));
  }
};
// (x, for nan, for +inf, for -inf)
struct NanToNum {
  static constexpr size_t kArity = 4;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V nan, V positive, V negative) {
    const V inf = V(INFINITY);
    return select(x != x, nan, select(x == inf, positive, select(x == -inf, negative, x)));
  }
};

TIERUP_BINARY_BODY(Eq, a == b);
TIERUP_BINARY_BODY(Ne, a != b);
TIERUP_BINARY_BODY(Lt, a < b);
TIERUP_BINARY_BODY(Le, a <= b);
TIERUP_BINARY_BODY(Gt, a > b);
TIERUP_BINARY_BODY(Ge, a >= b);
TIERUP_UNARY_BODY(IsNan, x != x);
TIERUP_UNARY_BODY(IsInf, abs(x) == V(INFINITY));
TIERUP_UNARY_BODY(IsFinite, abs(x) < V(INFINITY));
TIERUP_UNARY_BODY(IsPosInf, x == V(INFINITY));
TIERUP_UNARY_BODY(IsNegInf, x == V(-INFINITY));

}  // namespace tierup::kernels::bodies
