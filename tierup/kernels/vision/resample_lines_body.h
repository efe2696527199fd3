// The code of resample_lines.h; each including file is compiled for one instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/simd/vectors_body.h"
#include "tierup/kernels/vision/resample_lines.h"

namespace tierup::kernels {
namespace {

typedef int32_t IndexVector __attribute__((vector_size(kVectorBytes)));

inline IndexVector load_indices(const int32_t* data) {
  IndexVector result;
  std::memcpy(&result, data, sizeof(result));
  return result;
}

// a * w + sum, rounded once (but for ties of ties: the product of floats is exact in double).
inline FloatVector add_product(FloatVector a, FloatVector w, FloatVector sum) {
  if constexpr (kFuses) return multiply_add(a, w, sum);
  for (int i = 0; i < kVectorFloats; ++i) {
    sum[i] = static_cast<float>(static_cast<double>(sum[i]) +
                                static_cast<double>(a[i]) * static_cast<double>(w[i]));
  }
  return sum;
}

inline FloatVector gather(const float* from, IndexVector index) {
#if defined(__AVX512F__)
  return _mm512_i32gather_ps(reinterpret_cast<__m512i>(index), from, sizeof(float));
#elif defined(__AVX2__)
  return _mm256_i32gather_ps(from, reinterpret_cast<__m256i>(index), sizeof(float));
#else
  FloatVector result;
  for (int i = 0; i < kVectorFloats; ++i) result[i] = from[index[i]];
  return result;
#endif
}

// Lanes of one vector, in another order.
inline FloatVector pick(FloatVector from, IndexVector index) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(index), from);
#elif defined(__AVX2__)
  return _mm256_permutevar8x32_ps(from, reinterpret_cast<__m256i>(index));
#else
  FloatVector result;
  for (int i = 0; i < kVectorFloats; ++i) result[i] = from[index[i]];
  return result;
#endif
}

template <typename Read>
void sum_taps(const LineTaps& taps, const Read& read, float* target) {
  for (int64_t i = 0; i < taps.out; i += kVectorFloats) {
    FloatVector sum{};
    for (int64_t at = i; at < taps.count * taps.width; at += taps.width) {
      sum = add_product(read(load_indices(taps.index.data() + at)),
                        load_vector(taps.weight.data() + at), sum);
    }
    store_columns(target + i, taps.out - i, sum);
  }
}

void resample_along(const float* source, const LineTaps& taps, float* target) {
  if (taps.in <= kVectorFloats) {
    const FloatVector line = load_columns(source, taps.in);
    return sum_taps(
        taps, [&](IndexVector index) { return pick(line, index); }, target);
  }
  sum_taps(
      taps, [&](IndexVector index) { return gather(source, index); }, target);
}

void resample_across(const float* source, const int64_t* index, const float* weight, int64_t count,
                     int64_t size, float* target) {
  for (int64_t j = 0; j < size; j += kVectorFloats) {
    FloatVector sum{};
    for (int64_t k = 0; k < count; ++k) {
      if (weight[k] == 0) continue;
      sum = add_product(load_columns(source + index[k] * size + j, size - j),
                        weight[k] - FloatVector{}, sum);
    }
    store_columns(target + j, size - j, sum);
  }
}

void resample_across_two(const float* a, const float* b, const float* weight, int64_t size,
                         float* target) {
  for (int64_t j = 0; j < size; j += kVectorFloats) {
    const FloatVector first = load_columns(a + j, size - j) * weight[0];
    const FloatVector second = load_columns(b + j, size - j) * weight[1];
    store_columns(target + j, size - j, first + second);
  }
}

constexpr ResampleLoops kResampleLoops{&resample_along, &resample_across, &resample_across_two};

}  // namespace
}  // namespace tierup::kernels
