// Lanes in the vocabulary of scalar bodies, and what is written over any of them.
//
// Lanes are a register's (simd_lanes.h), or expressions (expression_lanes.h) where the text is to
// be written down for the code generator.
#pragma once

#if defined(TIERUP_EXPRESSION_LANES)
#include "tierup/kernels/simd/expression_lanes.h"
#else
#include "tierup/kernels/simd/simd_lanes.h"
#endif

namespace tierup::kernels::TIERUP_SIMD {

// c[0] + c[1] x + ... with the constants in rising order: Horner's rule over pairs, in x^2, so that
// the chain of steps that wait for one another is half as long.
template <size_t I, typename T, size_t N>
TIERUP_INLINE Vec<T> sum_of_pairs(Vec<T> x, Vec<T> square, const double (&c)[N]) {
  if constexpr (I + 1 == N) {
    return Vec<T>(c[I]);
  } else {
    const Vec<T> pair = multiply_add(Vec<T>(c[I + 1]), x, Vec<T>(c[I]));
    if constexpr (I + 2 == N)
      return pair;
    else
      return multiply_add(sum_of_pairs<I + 2>(x, square, c), square, pair);
  }
}
template <typename T, size_t N>
TIERUP_INLINE Vec<T> polynomial(Vec<T> x, const double (&c)[N]) {
  return sum_of_pairs<0>(x, Vec<T>(x * x), c);
}

// A number rounded to the nearest integer, as a number and as integer lanes. |x| < 2^21 (2^50).
template <typename T>
struct Rounded {
  Vec<T> value;
  typename Vec<T>::IntNative integer;
};
template <typename T>
TIERUP_INLINE Rounded<T> round_small(Vec<T> x) {
  const Vec<T> magic(LaneTraits<T>::kMagic);
  const Vec<T> shifted = x + magic;
  return {shifted - magic, shifted.bits() - magic.bits()};
}

// The same of x * factor.
template <typename T>
TIERUP_INLINE Rounded<T> round_product(Vec<T> x, double factor) {
  const Vec<T> magic(LaneTraits<T>::kMagic);
  const Vec<T> shifted = multiply_add(x, Vec<T>(factor), magic);
  return {shifted - magic, shifted.bits() - magic.bits()};
}

// 2^n for integer lanes within the exponents of normal numbers.
template <typename T>
TIERUP_INLINE Vec<T> power_of_two(typename Vec<T>::IntNative n) {
  return Vec<T>::from_bits((n + LaneTraits<T>::kBias) << LaneTraits<T>::kMantissaBits);
}

// x = mantissa * 2^exponent with mantissa in [sqrt(1/2), sqrt(2)), for positive finite x.
template <typename T>
struct Split {
  Vec<T> mantissa;
  Vec<T> exponent;
};
template <typename T>
TIERUP_INLINE Split<T> split_exponent(Vec<T> x) {
  using Int = typename LaneTraits<T>::Int;
  constexpr int kBits = LaneTraits<T>::kMantissaBits;
  // Subnormal numbers are scaled up first.
  const Vec<T> least(sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022);
  const Mask<T> tiny = x < least;
  const Vec<T> scaled = select(tiny, x * Vec<T>(sizeof(T) == 4 ? 0x1p25 : 0x1p54), x);
  const Vec<T> root(0.70710678118654752);
  const auto offset = scaled.bits() - root.bits();
  const auto n = offset >> kBits;
  const Vec<T> mantissa = Vec<T>::from_bits(scaled.bits() - (n << kBits));
  // The integer as a number, by its place behind the magic number.
  const Vec<T> magic(LaneTraits<T>::kMagic);
  const Vec<T> exponent = Vec<T>::from_bits(magic.bits() + n) - magic;
  static_assert(sizeof(Int) == sizeof(T));
  return {mantissa, exponent - select(tiny, Vec<T>(sizeof(T) == 4 ? 25 : 54), Vec<T>(0))};
}

}  // namespace tierup::kernels::TIERUP_SIMD
