// Functions of an angle: lanes reduce it up to a limit, and the rare ones beyond, or not finite, go
// to the C library one by one. Tier 0's kernels and compiled groups do this alike.
#pragma once

#include <cmath>
#include <cstdint>

namespace tierup::kernels {

inline constexpr double kAngleLimit = 1e6;

enum class Angular : uint8_t { kSine, kCosine, kTangent };

// What is left of an angle after whole quarters of a turn, and the number of quarters.
template <typename V>
struct Turned {
  V rest;
  V quarters;
};

inline double library_value(Angular function, double x) {
  switch (function) {
    case Angular::kSine: return std::sin(x);
    case Angular::kCosine: return std::cos(x);
    default: return std::tan(x);
  }
}

}  // namespace tierup::kernels
