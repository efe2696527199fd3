// Quotients by a number known in advance, without a division for each: Markstein's correction with
// fused multiply-adds gives the bits of a division. Sets without such an instruction divide.
#pragma once

#include "tierup/kernels/simd/simd_lanes.h"

namespace tierup::kernels::TIERUP_SIMD {

template <typename T>
class Divisor {
 public:
  explicit Divisor(double number)
      : number_(static_cast<T>(number)),
        divisor_(number_),
        minus_divisor_(-number_),
        reciprocal_(static_cast<T>(1 / number_)),
        rest_(__builtin_fma(-number_, static_cast<T>(1 / number_), 1.0) / number_),
        corrects_(kFuses && number_ > kLeast && number_ < 1 / kLeast) {}

  TIERUP_INLINE Vec<T> number() const { return divisor_; }
  // x / number, for roots: 0, infinity, NaN, and no number so small that the remainder underflows.
  TIERUP_INLINE Vec<T> quotient(Vec<T> x) const {
    if (!corrects_) return x / divisor_;
    // The quotient, or a number next to it: reciprocal and rest have twice a number's digits.
    const Vec<T> near = multiply_add(x, reciprocal_, x * rest_);
    const Vec<T> remainder = multiply_add(near, minus_divisor_, x);  // Exact.
    const Vec<T> right = multiply_add(remainder, reciprocal_, near);
    return select(x < Vec<T>(__builtin_inf()), right, x);
  }

 private:
  static constexpr bool kFuses = TIERUP_VECTOR_BYTES > 16;
  // Near enough to 1 that products with roots neither overflow nor underflow.
  static constexpr double kLeast = sizeof(T) == 4 ? 0x1p-16 : 0x1p-128;

  double number_;  // Of T.
  Vec<T> divisor_, minus_divisor_, reciprocal_, rest_;
  bool corrects_;
};

}  // namespace tierup::kernels::TIERUP_SIMD
