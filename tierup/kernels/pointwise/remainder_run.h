// Remainders by vectors, exact as fmod is, where an instruction rounds a product and a sum once.
//
// Of a quotient below 2^20, truncated, what is left of a is exact: the quotient is right, or one
// too large where it was rounded up to a whole number, and then what is left is just below zero.
// Vectors with other lanes (larger quotients, infinities, NaN, zeros) go number by number.
#pragma once

#include <cmath>

#include "tierup/kernels/pointwise/vector_run.h"

namespace tierup::kernels::TIERUP_SIMD {

#if TIERUP_VECTOR_BYTES > 16
// As Python's % has it: the sign of the divisor; else that of a.
template <bool kFloored, typename T>
TIERUP_INLINE T remainder_of(T a, T b) {
  const T left = std::fmod(a, b);
  return kFloored && left != 0 && (b < 0) != (left < 0) ? left + b : left;
}

template <typename T>
TIERUP_INLINE bool all(Mask<T> mask) {
  return !any(!mask);
}

template <bool kFloored, typename T>
TIERUP_INLINE Vec<T> remainder_of(Vec<T> a, Vec<T> b, Vec<T> quotient) {
  const Vec<T> zero(0.0);
  const Vec<T> one(1.0);
  Vec<T> left = multiply_add(-trunc(quotient), b, a);
  const Mask<T> is_over = left * copysign(one, a) < zero;
  left = select(is_over, left + copysign(b, a), left);
  left = select(left == zero, copysign(zero, a), left);
  if (!kFloored) return left;
  return select(left * copysign(one, b) < zero, left + b, left);
}

template <bool kFloored, typename T>
void remainder_run(char* out, const char* const* in, int64_t count) {
  constexpr int64_t kLanes = Vec<T>::kLanes;
  const Vec<T> most(1048576.0);
  const Vec<T> infinity(__builtin_inf());
  const T* a = reinterpret_cast<const T*>(in[0]);
  const T* b = reinterpret_cast<const T*>(in[1]);
  T* to = reinterpret_cast<T*>(out);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec<T> x = Vec<T>::load(a + i);
    const Vec<T> y = Vec<T>::load(b + i);
    const Vec<T> quotient = x / y;
    if (all((abs(quotient) < most) & (abs(y) < infinity))) {
      remainder_of<kFloored>(x, y, quotient).store(to + i);
    } else {
      for (int64_t j = i; j < i + kLanes; ++j) to[j] = remainder_of<kFloored>(a[j], b[j]);
    }
  }
  for (; i < count; ++i) to[i] = remainder_of<kFloored>(a[i], b[i]);
}

template <bool kFloored, typename T>
inline void set_remainder(RunTable& table, Body body) {
  Variant variant;
  variant.run = &remainder_run<kFloored, T>;
  variant.arity = 2;
  variant.out = kDTypeOf<T>;
  for (ScalarType& input : variant.in) input = kDTypeOf<T>;
  table.set(body, kDTypeOf<T>, variant);
}

inline void add_remainder_runs(RunTable& table) {
  set_remainder<true, float>(table, Body::kRemainder);
  set_remainder<true, double>(table, Body::kRemainder);
  set_remainder<false, float>(table, Body::kFmod);
  set_remainder<false, double>(table, Body::kFmod);
}
#else
// Without such an instruction, remainders stay with the runs over single numbers.
inline void add_remainder_runs(RunTable& /*table*/) {}
#endif

}  // namespace tierup::kernels::TIERUP_SIMD
