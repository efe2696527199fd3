// The total order of sorting operators: NaN stands behind every number and equals NaN.
#pragma once

#include <type_traits>

#include "tierup/tensor/dtype.h"

namespace tierup::kernels {

// The type of 64 bits that holds all values of T, in their order: what many types are sorted as, so
// that sorts exist twice instead of ten times.
template <typename T>
using Widest = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <typename T>
inline bool value_is_nan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (std::is_same_v<T, double>) {
    return value != value;
  } else {
    const float number = static_cast<float>(value);
    return number != number;
  }
}

template <typename T>
inline bool nan_less(T a, T b) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
    return a < b || (value_is_nan(b) && !value_is_nan(a));
  } else {
    const float x = static_cast<float>(a);
    const float y = static_cast<float>(b);
    return x < y || (y != y && x == x);
  }
}

}  // namespace tierup::kernels
