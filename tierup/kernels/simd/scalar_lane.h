// The vocabulary of scalar bodies for plain numbers: what simd.h offers for vectors, here for
// float, double, integers and complex numbers.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "tierup/tensor/dtype.h"

#define TIERUP_INLINE inline __attribute__((always_inline))

namespace tierup::kernels::bodies {

template <typename T>
concept PlainReal = std::is_arithmetic_v<T>;
template <typename T>
concept PlainFloat = std::is_floating_point_v<T>;
template <typename T>
concept PlainInteger = std::is_integral_v<T>;

template <typename T>
TIERUP_INLINE T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
template <PlainReal T>
TIERUP_INLINE bool is_nan(T x) {
  return x != x;
}
template <PlainReal T>
TIERUP_INLINE T abs(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(x);
  } else if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else {
    return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
  }
}

// Complex numbers find their functions in std, beside std::complex.
#define TIERUP_PLAIN_FUNCTION(name) \
  template <PlainFloat T>           \
  TIERUP_INLINE T name(T x) {       \
    return std::name(x);            \
  }
TIERUP_PLAIN_FUNCTION(exp)
TIERUP_PLAIN_FUNCTION(log)
TIERUP_PLAIN_FUNCTION(sin)
TIERUP_PLAIN_FUNCTION(cos)
TIERUP_PLAIN_FUNCTION(tan)
TIERUP_PLAIN_FUNCTION(asin)
TIERUP_PLAIN_FUNCTION(acos)
TIERUP_PLAIN_FUNCTION(atan)
TIERUP_PLAIN_FUNCTION(sinh)
TIERUP_PLAIN_FUNCTION(cosh)
TIERUP_PLAIN_FUNCTION(tanh)
TIERUP_PLAIN_FUNCTION(asinh)
TIERUP_PLAIN_FUNCTION(acosh)
TIERUP_PLAIN_FUNCTION(atanh)
TIERUP_PLAIN_FUNCTION(sqrt)
TIERUP_PLAIN_FUNCTION(log10)
TIERUP_PLAIN_FUNCTION(exp2)
TIERUP_PLAIN_FUNCTION(expm1)
TIERUP_PLAIN_FUNCTION(log2)
TIERUP_PLAIN_FUNCTION(log1p)
TIERUP_PLAIN_FUNCTION(erf)
TIERUP_PLAIN_FUNCTION(erfc)
TIERUP_PLAIN_FUNCTION(floor)
TIERUP_PLAIN_FUNCTION(ceil)
TIERUP_PLAIN_FUNCTION(trunc)
#undef TIERUP_PLAIN_FUNCTION

// Of numbers in [0, 1].
template <PlainFloat T>
TIERUP_INLINE T log1p_of_part(T x) {
  return std::log1p(x);
}
// erf where a few ulps do not matter.
template <PlainFloat T>
TIERUP_INLINE T erf_coarse(T x) {
  return std::erf(x);
}
template <PlainFloat T>
TIERUP_INLINE T round_even(T x) {
  return std::nearbyint(x);
}
template <PlainFloat T>
TIERUP_INLINE T copysign(T x, T y) {
  return std::copysign(x, y);
}
template <PlainFloat T>
TIERUP_INLINE T pow(T x, T y) {
  return std::pow(x, y);
}
template <PlainFloat T>
TIERUP_INLINE T atan2(T x, T y) {
  return std::atan2(x, y);
}
template <PlainFloat T>
TIERUP_INLINE T hypot(T x, T y) {
  return std::hypot(x, y);
}
template <PlainFloat T>
TIERUP_INLINE bool signbit(T x) {
  return std::signbit(x);
}
template <PlainFloat T>
TIERUP_INLINE T sigmoid(T x) {
  const T z = std::exp(-std::fabs(x));
  return (x < 0 ? z : T(1)) / (1 + z);
}

}  // namespace tierup::kernels::bodies
