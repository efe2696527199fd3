// MixedNumbers: numbers of no pattern from -1 to 1, the same in every process, to try things on.
#pragma once

#include <cstdint>

namespace tierup {

// A linear congruential generator; seeds side by side give streams that have nothing in common.
class MixedNumbers {
 public:
  explicit MixedNumbers(uint32_t seed) : state_(seed * 2654435761U + 1) {}
  float next() {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(state_ >> 8U) / 8388608.0F - 1.0F;
  }

 private:
  uint32_t state_;
};

}  // namespace tierup
