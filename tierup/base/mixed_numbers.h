// MixedNumbers: numbers of no pattern from -1 to 1, the same in every process, to try things on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tierup {

// A linear congruential generator; seeds side by side give streams that have nothing in common.
class MixedNumbers {
 public:
  explicit MixedNumbers(uint32_t seed) : state_(seed * 2654435761U + 1) {}
  float next() {
    state_ = after(state_);
    return number_of(state_);
  }
  // The next ones. Of each the state follows from the one kStreams before it, so that none waits
  // for its neighbour.
  void fill(std::span<float> numbers) {
    const size_t whole = numbers.size() / kStreams * kStreams;
    std::array<uint32_t, kStreams> states{};
    uint32_t factor = 1;
    uint32_t summand = 0;
    for (uint32_t& state : states) {
      state = after(state_ * factor + summand);
      summand += factor * kSummand;
      factor *= kFactor;
    }
    for (size_t i = 0; i < whole; i += kStreams) {
      state_ = states[kStreams - 1];
      for (size_t k = 0; k < kStreams; ++k) {
        numbers[i + k] = number_of(states[k]);
        states[k] = states[k] * factor + summand;
      }
    }
    for (float& number : numbers.subspan(whole)) number = next();
  }

 private:
  static constexpr size_t kStreams = 8;
  static constexpr uint32_t kFactor = 1664525U;
  static constexpr uint32_t kSummand = 1013904223U;

  static uint32_t after(uint32_t state) { return state * kFactor + kSummand; }
  static float number_of(uint32_t state) {
    return static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
  }

  uint32_t state_;
};

}  // namespace tierup
