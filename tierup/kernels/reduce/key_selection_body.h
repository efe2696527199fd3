// The code of key_selection.h; each including file is compiled for one instruction set and names
// the function that returns its table.
#pragma once

#include <algorithm>
#include <limits>

#include "tierup/kernels/reduce/key_selection.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

typedef int32_t KeyVector __attribute__((vector_size(kVectorBytes)));
constexpr int32_t kLastKey = std::numeric_limits<int32_t>::max();

inline KeyVector key_vector(FloatVector x) {
  const KeyVector bits = reinterpret_cast<KeyVector>(x + 0.0F);  // -0 becomes 0.
  const KeyVector keys = bits ^ ((bits >> 31) & kLastKey);
  return x != x ? KeyVector{} + kLastKey : keys;
}

void keys_of(const float* x, int64_t n, int32_t* keys) {
  int64_t i = 0;
  for (; i + kVectorFloats <= n; i += kVectorFloats) {
    const KeyVector found = key_vector(load_vector(x + i));
    std::memcpy(keys + i, &found, sizeof(found));
  }
  if (i == n) return;
  const KeyVector found = key_vector(load_part(x + i, n - i));
  std::memcpy(keys + i, &found, static_cast<size_t>(n - i) * sizeof(int32_t));
}

// Comparisons count downwards. By halves, down to four.
typedef int32_t FourKeys __attribute__((vector_size(16)));
inline int64_t sum_of(KeyVector counts) {
#if defined(__AVX512F__)
  const auto half = __builtin_shufflevector(counts, counts, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(counts, counts, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  const KeyVector half = counts;
#endif
#if defined(__AVX2__)
  const FourKeys four = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                        __builtin_shufflevector(half, half, 4, 5, 6, 7);
#else
  const FourKeys four = half;
#endif
  return -(int64_t{four[0]} + four[1] + four[2] + four[3]);
}

// How many of n keys, filled up with last ones to whole vectors, are less than `pivot` or equal.
struct Counts {
  int64_t less;
  int64_t equal;
};
inline Counts count_keys(const int32_t* keys, int64_t n, int32_t pivot) {
  KeyVector less{};
  KeyVector equal{};
  for (int64_t i = 0; i < n; i += kVectorFloats) {
    KeyVector own;
    std::memcpy(&own, keys + i, sizeof(own));
    less += own < pivot;
    equal += own == pivot;
  }
  const int64_t filled = (n + kVectorFloats - 1) / kVectorFloats * kVectorFloats - n;
  return {sum_of(less), sum_of(equal) - (pivot == kLastKey ? filled : 0)};
}

// The wanted key lies in [low, high]. A key at random parts those that are left about evenly; where
// it is none of them, the middle of the range does.
KeySelection::Found select(int32_t* keys, int64_t n, int64_t k) {
  static_assert(kVectorFloats <= KeySelection::kRoom);
  std::fill_n(keys + n, kVectorFloats, kLastKey);
  int64_t low = std::numeric_limits<int32_t>::min();
  int64_t high = kLastKey;
  for (uint32_t random = 0x9e3779b9U;; random = random * 1664525U + 1013904223U) {
    const int64_t picked = keys[static_cast<uint64_t>(random) * static_cast<uint64_t>(n) >> 32U];
    const int64_t pivot = picked < low || picked > high ? low + (high - low) / 2 : picked;
    const Counts counts = count_keys(keys, n, static_cast<int32_t>(pivot));
    if (k < counts.less) {
      high = pivot - 1;
    } else if (k >= counts.less + counts.equal) {
      low = pivot + 1;
    } else {
      return {static_cast<int32_t>(pivot), counts.less, counts.equal};
    }
  }
}

constexpr KeySelection kKeySelection{.keys_of = keys_of, .select = select};

}  // namespace
}  // namespace tierup::kernels
