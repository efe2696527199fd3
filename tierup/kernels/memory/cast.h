// Element-wise conversion between dtypes, as a run of a StridedLoop.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tierup/tensor/dtype.h"
#include "tierup/tensor/scalar.h"

namespace tierup::kernels {

template <typename T>
inline constexpr bool kIsComplex = false;
template <>
inline constexpr bool kIsComplex<complex64> = true;
template <>
inline constexpr bool kIsComplex<complex128> = true;
template <typename T>
inline constexpr bool kIsReduced = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Cut off towards zero as the processor does it: NaN and what does not fit (which the language
// leaves open) become the smallest number.
template <typename To, typename From>
inline To truncated(From value) {
  constexpr From kEnd = -static_cast<From>(std::numeric_limits<To>::min());
  return value >= -kEnd && value < kEnd ? static_cast<To>(value) : std::numeric_limits<To>::min();
}

// One element converted as PyTorch converts it: complex to real keeps the real part, anything to
// bool asks for "not zero", floating to an unsigned type goes through int64, to a small
// signed one through int32.
template <typename To, typename From>
inline To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsReduced<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      return To(static_cast<typename To::value_type>(value.real()),
                static_cast<typename To::value_type>(value.imag()));
    } else {
      return convert<To>(value.real());
    }
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (kIsReduced<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Wide = std::conditional_t<std::is_unsigned_v<To> || sizeof(To) == 8, int64_t, int32_t>;
    return static_cast<To>(truncated<Wide>(value));
  } else {
    return static_cast<To>(value);
  }
}

// A number as a tensor of it is converted: unlike Scalar::to, what does not fit wraps around or
// becomes the smallest number. A complex number is as there.
template <typename T>
T convert_number(const Scalar& number) {
  if (number.is_complex()) return number.to<T>();
  return number.is_float() ? convert<T>(number.to_double()) : convert<T>(number.to_int());
}

// Converts `count` elements: pointers[0] receives what pointers[1] has; strides are in bytes.
using CastRun = void (*)(char* const* pointers, const int64_t* strides, int64_t count);

// The run for this pair. Throws kUnsupported if one of the types is not computed with.
CastRun cast_run(ScalarType to, ScalarType from);

}  // namespace tierup::kernels
