// Remainders by vectors, exact as fmod is, where an instruction rounds a product and a sum once.
//
// Of a quotient below 2^20, truncated, what is left of a is exact: the quotient is right, or one
// too large where it was rounded up to a whole number, and then what is left is just below zero.
// Vectors with other lanes (larger quotients, infinities, NaN, zeros) go number by number.
#pragma once

#include "tierup/kernels/pointwise/python_division.h"
#include "tierup/kernels/pointwise/vector_run.h"

namespace tierup::kernels::TIERUP_SIMD {

#if TIERUP_VECTOR_BYTES > 16
template <typename T>
TIERUP_INLINE bool all(Mask<T> mask) {
  return !any(!mask);
}

// What is left of a; with its sign, as std::fmod has it.
template <typename T>
TIERUP_INLINE Vec<T> left_of(Vec<T> a, Vec<T> b, Vec<T> quotient) {
  const Vec<T> zero(0.0);
  Vec<T> left = multiply_add(-trunc(quotient), b, a);
  const Mask<T> is_over = left * copysign(Vec<T>(1.0), a) < zero;
  left = select(is_over, left + copysign(b, a), left);
  return select(left == zero, copysign(zero, a), left);
}
// Where the divisor has another sign than what is left.
template <typename T>
TIERUP_INLINE Mask<T> is_opposed(Vec<T> left, Vec<T> b) {
  return left * copysign(Vec<T>(1.0), b) < Vec<T>(0.0);
}

struct Fmod {
  template <typename T>
  static T apply(T a, T b) {
    return std::fmod(a, b);
  }
  template <typename T>
  TIERUP_INLINE static Vec<T> apply(Vec<T> a, Vec<T> b, Vec<T> quotient) {
    return left_of(a, b, quotient);
  }
};
struct FloorRemainder {
  template <typename T>
  static T apply(T a, T b) {
    return floor_remainder(a, b);
  }
  template <typename T>
  TIERUP_INLINE static Vec<T> apply(Vec<T> a, Vec<T> b, Vec<T> quotient) {
    const Vec<T> left = left_of(a, b, quotient);
    return select(is_opposed(left, b), left + b, left);
  }
};
struct FloorQuotient {
  template <typename T>
  static T apply(T a, T b) {
    return floor_quotient(a, b);
  }
  template <typename T>
  TIERUP_INLINE static Vec<T> apply(Vec<T> a, Vec<T> b, Vec<T> quotient) {
    const Vec<T> one(1.0);
    const Vec<T> zero(0.0);
    const Vec<T> left = left_of(a, b, quotient);
    Vec<T> whole = (a - left) / b;
    whole = select(is_opposed(left, b), whole - one, whole);
    const Vec<T> floored = floor(whole);
    const Vec<T> nearest = select(Vec<T>(0.5) < whole - floored, floored + one, floored);
    return select(whole == zero, copysign(zero, quotient), nearest);
  }
};

template <typename Op, typename T>
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
      Op::apply(x, y, quotient).store(to + i);
    } else {
      for (int64_t j = i; j < i + kLanes; ++j) to[j] = Op::apply(a[j], b[j]);
    }
  }
  for (; i < count; ++i) to[i] = Op::apply(a[i], b[i]);
}

template <typename Op>
inline void set_remainders(RunTable& table, Body body) {
  table.set(body, ScalarType::kFloat, ScalarType::kFloat, 2, &remainder_run<Op, float>);
  table.set(body, ScalarType::kDouble, ScalarType::kDouble, 2, &remainder_run<Op, double>);
}

inline void add_remainder_runs(RunTable& table) {
  set_remainders<FloorRemainder>(table, Body::kRemainder);
  set_remainders<Fmod>(table, Body::kFmod);
  set_remainders<FloorQuotient>(table, Body::kDivFloor);
}
#else
// Without such an instruction, remainders stay with the runs over single numbers.
inline void add_remainder_runs(RunTable& /*table*/) {}
#endif

}  // namespace tierup::kernels::TIERUP_SIMD
