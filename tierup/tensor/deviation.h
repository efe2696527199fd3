// Deviation: how far numbers are from what was expected of them. The one place where that is
// decided: whatever compares results (cases, nets, live checks, benchmarks) counts with this.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tierup/tensor/dtype.h"

namespace tierup {

// 0 if both are the same: equal, both NaN, or the same infinity. A NaN or an infinity is
// infinitely far from anything else.
inline double distance_of(double found, double expected) {
  if (found == expected) return 0;
  const double distance = std::abs(found - expected);
  if (!std::isnan(distance)) return distance;
  return std::isnan(found) && std::isnan(expected) ? 0 : std::numeric_limits<double>::infinity();
}
// Of the two parts together.
inline double distance_of(complex128 found, complex128 expected) {
  return std::hypot(distance_of(found.real(), expected.real()),
                    distance_of(found.imag(), expected.imag()));
}

// What a relative tolerance is relative to: the absolute value of the finite parts.
inline double finite_size(double value) { return std::isfinite(value) ? std::abs(value) : 0; }
inline double finite_size(complex128 value) {
  return std::hypot(finite_size(value.real()), finite_size(value.imag()));
}

// The largest deviation met so far, and the largest finite value of what was expected.
struct Deviation {
  double max_absolute = 0;
  double largest_value = 0;

  template <typename Number>
  void note(Number found, Number expected) {
    max_absolute = std::max(max_absolute, distance_of(found, expected));
    largest_value = std::max(largest_value, finite_size(expected));
  }
  // Of each from what was expected in its place. Distances are rounded to floats.
  void note_all(std::span<const float> found, std::span<const float> expected);
  void note(const Deviation& other) {
    max_absolute = std::max(max_absolute, other.max_absolute);
    largest_value = std::max(largest_value, other.largest_value);
  }
  // Of the largest value; infinite where any number is, and where nothing but zeros was expected
  // and something else was found.
  double relative() const { return max_absolute == 0 ? 0 : max_absolute / largest_value; }
};

}  // namespace tierup
