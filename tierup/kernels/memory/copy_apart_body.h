// Numbers that lie apart, put side by side. For kernels compiled once per instruction set:
// everything is local to the including file.
#pragma once

#include <cstdint>

#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// The numbers of two vectors at even places.
inline FloatVector take_even(FloatVector a, FloatVector b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
}

// The first `count` numbers from `from` on and no others are read, if there are any.
inline FloatVector load_first(const float* from, int64_t count) {
#if defined(__AVX512F__)
  if (count <= 0) return FloatVector{};
#endif
  return load_columns(from, count);
}

// to[i] = from[stride * i].
inline void copy_apart(const float* from, int64_t stride, int64_t count, float* to) {
  int64_t i = 0;
  if (stride == 1) {
    for (; i + kVectorFloats <= count; i += kVectorFloats)
      store_vector(to + i, load_vector(from + i));
#if defined(__AVX512F__)
    if (i < count) store_part(to + i, count - i, load_part(from + i, count - i));
    return;
#endif
  }
  if (stride == 2) {
    for (; i + kVectorFloats < count; i += kVectorFloats) {
      const float* source = from + 2 * i;
      store_vector(to + i, take_even(load_vector(source), load_vector(source + kVectorFloats)));
    }
#if defined(__AVX512F__)
    if (const int64_t left = 2 * (count - i) - 1; left > 0) {
      const float* source = from + 2 * i;
      const FloatVector even = take_even(load_columns(source, left),
                                         load_first(source + kVectorFloats, left - kVectorFloats));
      store_columns(to + i, count - i, even);
    }
    return;
#endif
  }
  for (; i < count; ++i) to[i] = from[i * stride];
}

}  // namespace
}  // namespace tierup::kernels
