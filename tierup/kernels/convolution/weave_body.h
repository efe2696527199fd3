// Rows of numbers woven into one. For kernels compiled once per instruction set.
#pragma once

#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// The numbers of a and b by turns, in two vectors.
inline void join_pairs(FloatVector a, FloatVector b, FloatVector& first, FloatVector& second) {
#if defined(__AVX512F__)
  first = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  second =
      __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif defined(__AVX2__)
  first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  first = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

// to[i * rows + r] = from[r * step + i] + summand, for `rows` rows of `width` numbers.
inline void weave_rows(const float* from, int64_t step, int64_t rows, int64_t width, float summand,
                       float* to) {
  if (rows == 2) {
    for (int64_t i = 0; i < width; i += kVectorFloats) {
      const int64_t left = width - i;
      FloatVector first;
      FloatVector second;
      join_pairs(load_columns(from + i, left) + summand,
                 load_columns(from + step + i, left) + summand, first, second);
      store_columns(to + 2 * i, 2 * left, first);
      if (2 * left > kVectorFloats)
        store_columns(to + 2 * i + kVectorFloats, 2 * left - kVectorFloats, second);
    }
    return;
  }
  for (int64_t i = 0; i < width; ++i) {
    for (int64_t r = 0; r < rows; ++r) *to++ = from[r * step + i] + summand;
  }
}

}  // namespace
}  // namespace tierup::kernels
