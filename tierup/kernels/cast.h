// Element-wise conversion between dtypes, as a run of a StridedLoop.
#pragma once

#include <complex>
#include <type_traits>

#include "tierup/tensor/dtype.h"

namespace tierup::kernels {

template <typename T>
inline constexpr bool kIsComplex = false;
template <>
inline constexpr bool kIsComplex<complex64> = true;
template <>
inline constexpr bool kIsComplex<complex128> = true;
template <typename T>
inline constexpr bool kIsReduced = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// One element converted as PyTorch converts it: complex to real keeps the real part, anything to
// bool asks for "not zero", floating to a small unsigned type goes through int64.
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
  } else if constexpr (std::is_unsigned_v<To> && std::is_floating_point_v<From>) {
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Converts `count` elements: pointers[0] receives what pointers[1] has; strides are in bytes.
using CastRun = void (*)(char* const* pointers, const int64_t* strides, int64_t count);

// The run for this pair. Throws kUnsupported if one of the types is not computed with.
CastRun cast_run(ScalarType to, ScalarType from);

}  // namespace tierup::kernels
