// Scalar bodies of quantisation: numbers as steps of a scale, counted from a zero point.
#pragma once

#include "tierup/kernels/pointwise/scalar_bodies.h"

namespace tierup::kernels::bodies {

// (x, inverse of the scale, zero point, lower, upper): steps from the zero point; a NaN stays one.
struct Quantize {
  static constexpr size_t kArity = 5;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V inverse, V zero, V lower, V upper) {
    return min_nan(max_nan(V(round_even(V(x * inverse)) + zero), lower), upper);
  }
};
// (steps from the zero point, scale, zero point)
TIERUP_TERNARY_BODY(Dequantize, V(V(a - c) * b));

// (x, inverse of the scale, scale, lower, upper), bounds counted from zero instead of the zero
// point: the number that steps leave of x. A NaN is the lower bound; no zero is negative.
struct FakeQuantize {
  static constexpr size_t kArity = 5;
  template <typename V>
  static TIERUP_INLINE V apply(V x, V inverse, V scale, V lower, V upper) {
    const V steps = V(round_even(V(x * inverse)) + V(0));
    return V(select(steps > lower, select(steps < upper, steps, upper), lower) * scale);
  }
};
// (x, inverse of the scale, lower, upper): whether x lies within these bounds.
struct FakeQuantizeFits {
  static constexpr size_t kArity = 4;
  template <typename V>
  static TIERUP_INLINE auto apply(V x, V inverse, V lower, V upper) {
    const V steps = round_even(V(x * inverse));
    return (steps >= lower) & (steps <= upper);
  }
};

}  // namespace tierup::kernels::bodies
