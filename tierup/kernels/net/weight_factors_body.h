// The bodies of weight_factors.h; compiled once per instruction set.
#pragma once

#include <bit>

#include "tierup/kernels/net/weight_factors.h"

namespace tierup::kernels::net {
namespace {

// 1 or 0, from here on: without a branch, since a net has millions of weights.
inline uint32_t is_normal(float number) {
  constexpr uint32_t kMost = 0xff;
  const uint32_t exponent = std::bit_cast<uint32_t>(number) >> 23U & kMost;
  return static_cast<uint32_t>(exponent != 0) & static_cast<uint32_t>(exponent != kMost);
}
inline uint32_t is_lost(float number, float factor, float product) {
  return static_cast<uint32_t>(factor != 0) & is_normal(number) & (is_normal(product) ^ 1U);
}

uint32_t multiply_by_one(const float* from, float factor, int64_t count, float* to) {
  uint32_t lost = 0;
#pragma omp simd reduction(| : lost)
  for (int64_t i = 0; i < count; ++i) {
    const float number = from[i];
    const float product = number * factor;
    lost |= is_lost(number, factor, product);
    to[i] = product;
  }
  return lost;
}

// So many channels at a time, whose factors stay in a register: rows are short.
constexpr int64_t kTogether = 16;

inline void multiply_one(float* number, float factor, uint32_t* lost) {
  const float product = *number * factor;
  *lost |= is_lost(*number, factor, product);
  *number = product;
}

uint32_t multiply_by_each(float* panel, int64_t rows, int64_t width, const float* factors,
                          int64_t count) {
  uint32_t lost[kTogether] = {};
  int64_t first = 0;
  for (; first + kTogether <= count; first += kTogether) {
    for (float* row = panel + first; row < panel + rows * width; row += width) {
#pragma omp simd
      for (int64_t i = 0; i < kTogether; ++i) multiply_one(row + i, factors[first + i], lost + i);
    }
  }
  for (float* row = panel; first < count && row < panel + rows * width; row += width) {
    for (int64_t o = first; o < count; ++o) multiply_one(row + o, factors[o], lost);
  }
  uint32_t any = 0;
  for (const uint32_t one : lost) any |= one;
  return any;
}

constexpr FactorLoops kFactorLoops{&multiply_by_one, &multiply_by_each};

}  // namespace
}  // namespace tierup::kernels::net
