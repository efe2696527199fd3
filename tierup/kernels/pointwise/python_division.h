// Python's floor division and remainder of two floats. Local to each including file, since some are
// compiled for one instruction set.
#pragma once

#include <cmath>

namespace tierup::kernels {
namespace {

// Consistent with the remainder, exact where the quotient is.
template <typename T>
T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T left = std::fmod(a, b);
  T whole = (a - left) / b;
  if (left != 0 && (b < 0) != (left < 0)) whole -= 1;
  if (whole == 0) return std::copysign(T(0), a / b);
  const T floored = std::floor(whole);
  return whole - floored > T(0.5) ? floored + 1 : floored;
}

// With the sign of the divisor.
template <typename T>
T floor_remainder(T a, T b) {
  const T left = std::fmod(a, b);
  return left != 0 && (b < 0) != (left < 0) ? left + b : left;
}

}  // namespace
}  // namespace tierup::kernels
