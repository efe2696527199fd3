// Scalar bodies of the gradients of activations and element-wise losses. See scalar_bodies.h.
//
// The first operand g is the gradient of the result; conventions at kinks and bounds are the
// reference's, which are no limits of difference quotients.
#pragma once

#include "tierup/kernels/pointwise/scalar_bodies_math.h"

namespace tierup::kernels::bodies {

#define TIERUP_BODY_OF_4(name, expression)             \
  struct name {                                        \
    static constexpr size_t kArity = 4;                \
    template <typename V>                              \
    static TIERUP_INLINE V apply(V g, V x, V c, V d) { \
      return expression;                               \
    }                                                  \
  }
#define TIERUP_BODY_OF_5(name, expression)                  \
  struct name {                                             \
    static constexpr size_t kArity = 5;                     \
    template <typename V>                                   \
    static TIERUP_INLINE V apply(V g, V x, V c, V d, V e) { \
      return expression;                                    \
    }                                                       \
  }

// (g, result)
TIERUP_BINARY_BODY(TanhBackward, V(a*(V(1) - V(b * b))));
TIERUP_BINARY_BODY(SigmoidBackward, V(V(a*(V(1) - b)) * b));
// (g, x, threshold): NaN passes.
TIERUP_TERNARY_BODY(ThresholdBackward, select(b <= c, V(0), a));
// (g, x, slope)
TIERUP_TERNARY_BODY(LeakyReluBackward, select(b > V(0), a, V(a* c)));
// (g, x, lambda)
TIERUP_TERNARY_BODY(ShrinkBackward, select((b >= -c) & (b <= c), V(0), a));
// (g, x)
TIERUP_BINARY_BODY(HardsigmoidBackward, select((b > V(-3)) & (b < V(3)), V(a*(V(1.0 / 6))), V(0)));
TIERUP_BINARY_BODY(HardswishBackward,
                   select(b <= V(-3), V(0), select(b < V(3), V(a*(b / V(3) + V(0.5))), a)));
// (g, x, low, high): bounds are outside.
TIERUP_BODY_OF_4(HardtanhBackward, select((x <= c) | (x >= d), V(0), g));
// (g, x, beta, threshold)
TIERUP_BODY_OF_4(SoftplusBackward, select(V(x* c) > d, g, V(g* sigmoid(V(x* c)))));
// (g, x, exp(-|x|))
TIERUP_TERNARY_BODY(LogSigmoidBackward,
                    V(a* select(b < V(0), V(V(1) - c / (V(1) + c)), V(c / (V(1) + c)))));

// (g, x): x to -inf and inf gives NaN, as x times a derivative of 0.
struct SiluBackward {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x) {
    const V s = sigmoid(x);
    return V(g * V(s * V(V(1) + V(x * V(V(1) - s)))));
  }
};
struct MishBackward {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x) {
    const V n = exp(select(x > V(20), V(20), x));
    const V grown = n * (n + V(2));
    const V t = select(x > V(20), V(1), V(grown / (grown + V(2))));
    return V(g * V(t + V(V(x * sigmoid(x)) * V(V(1) - V(t * t)))));
  }
};
struct GeluErfBackward {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x) {
    const V share = V(V(0.5) * V(V(1) + erf(V(x * V(0.70710678118654752)))));
    const V density = V(exp(V(V(x * x) * V(-0.5))) * V(0.3989422804014327));
    return V(g * V(share + V(x * density)));
  }
};
struct GeluTanhBackward {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x) {
    const V square = V(x * x);
    const V inner = V(x * V(V(V(0.044715) * square) + V(1)));
    const V t = tanh(V(inner * V(0.7978845608028654)));
    const V slope = V(V(0.7978845608028654) * V(V(V(3 * 0.044715) * square) + V(1)));
    const V left = V(V(0.5) * V(V(1) + t));
    return V(g * V(left + V(V(V(V(0.5) * x) * V(V(1) - V(t * t))) * slope)));
  }
};
// (g, x, negative factor, positive factor, input factor); of the result: (g, y, ...).
TIERUP_BODY_OF_5(EluBackward, select(x <= V(0), V(V(V(g* e) * c) * exp(V(x * e))), V(g* d)));
TIERUP_BODY_OF_5(EluResultBackward, select(x <= V(0), V(V(g* e) * V(x + c)), V(g* d)));
// (g, x, eps): a negative eps means no clamping.
struct LogitBackward {
  static constexpr size_t kArity = 3;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x, V eps) {
    const V inside = V(g / V(x * V(V(1) - x)));
    const V clamped = select((x < eps) | (x > V(V(1) - eps)), V(0), inside);
    const V open = select((x < V(0)) | (x > V(1)), V(NAN), inside);
    return select(eps < V(0), open, clamped);
  }
};
// (g, x): the gradient of a learnt slope, elsewhere 0.
TIERUP_BINARY_BODY(SlopeBackward, select(b > V(0), V(0), V(b* a)));
// (g, value, gate) of value * sigmoid(gate), for the gate.
struct GluGateBackward {
  static constexpr size_t kArity = 3;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V value, V gate) {
    const V s = sigmoid(gate);
    return V(V(V(V(1) - s) * s) * V(g * value));
  }
};

// (g, x, target, norm)
TIERUP_BODY_OF_4(MseBackward, V(V(d*(x - c)) * g));
TIERUP_BODY_OF_4(SoftMarginBackward, V(V(V(-d) * V(c * g)) * sigmoid(V(V(-c) * x))));
// (g, x, target, weight, norm)
struct CrossEntropyBackward {
  static constexpr size_t kArity = 5;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x, V target, V weight, V norm) {
    const V spread = V(V(V(1) - x) * x);
    const V divisor = select(spread < V(1e-12), V(1e-12), spread);
    return V(V(V(V(g * V(x - target)) / divisor) * weight) * norm);
  }
};
// (g, x, target, norm, beta): x - target is scaled below beta.
struct SmoothL1Backward {
  static constexpr size_t kArity = 5;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x, V target, V norm, V beta) {
    const V z = V(x - target);
    const V full = V(norm * g);
    const V part = select(z == V(0), V(0), V(V(z / beta) * full));
    return select((z >= beta) & (z != V(0)), full,
                  select((z <= -beta) & (z != V(0)), V(-full), part));
  }
};
struct HuberBackward {
  static constexpr size_t kArity = 5;
  template <typename V>
  static TIERUP_INLINE V apply(V g, V x, V target, V norm, V delta) {
    const V z = V(x - target);
    const V full = V(norm * g);
    return select(z >= delta, V(full * delta),
                  select(z <= -delta, V(-V(full * delta)), V(full * z)));
  }
};

#undef TIERUP_BODY_OF_4
#undef TIERUP_BODY_OF_5

}  // namespace tierup::kernels::bodies
