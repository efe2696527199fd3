// Vectors of the instruction set that the including file is compiled for. Everything is local to
// that file, so that code for one instruction set never leaks into another.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#else
#include "tierup/kernels/simd/base_vectors.h"
#endif

#include <cstdint>
#include <cstring>

namespace tierup::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

typedef float FloatVector __attribute__((vector_size(kVectorBytes)));
typedef double DoubleVector __attribute__((vector_size(kVectorBytes)));
template <typename Acc>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = FloatVector;
};
template <>
struct VectorOf<double> {
  using Type = DoubleVector;
};

#if defined(__AVX512F__)
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__AVX2__)
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
  return _mm256_fmadd_pd(a, b, c);
}
#else
template <typename Vector>
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return base_multiply_add(a, b, c);
}
#endif

// Whether multiply_add rounds once.
#if defined(__AVX2__)
constexpr bool kFuses = true;
#else
constexpr bool kFuses = TIERUP_BASE_FUSES != 0;
#endif

// Stays in a register, where the compiler would read a constant from memory each time.
inline void keep_in_register(FloatVector& vector) {
#if defined(__x86_64__)
  asm("" : "+v"(vector));  // NOLINT: no C++ says this.
#else
  asm("" : "+w"(vector));  // NOLINT
#endif
}

constexpr int kVectorFloats = kVectorBytes / static_cast<int>(sizeof(float));

inline FloatVector load_vector(const float* data) {
  FloatVector result;
  std::memcpy(&result, data, sizeof(result));
  return result;
}

inline void store_vector(float* data, FloatVector vector) {
  std::memcpy(data, &vector, sizeof(vector));
}

#if defined(__AVX2__) && !defined(__AVX512F__)
// Ones in the first `count` lanes, of 0 to 8.
inline __m256i first_lanes(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
}
#endif

// The first `count` floats, of 0 to kVectorFloats, and zeros.
inline FloatVector load_part(const float* data, int64_t count) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), data);
#elif defined(__AVX2__)
  return _mm256_maskload_ps(data, first_lanes(count));
#else
  FloatVector result{};
  std::memcpy(&result, data, static_cast<size_t>(count) * sizeof(float));
  return result;
#endif
}

// The lanes from `begin` to `end`, and zeros; the others are not read.
inline FloatVector load_lanes(const float* data, int64_t begin, int64_t end) {
#if defined(__AVX512F__)
  const auto lanes = static_cast<__mmask16>((1U << end) - (1U << begin));
  return _mm512_maskz_loadu_ps(lanes, data);
#elif defined(__AVX2__)
  return _mm256_maskload_ps(data, _mm256_andnot_si256(first_lanes(begin), first_lanes(end)));
#else
  FloatVector result{};
  for (int64_t i = begin; i < end; ++i) result[i] = data[i];
  return result;
#endif
}

inline void store_part(float* data, int64_t count, FloatVector vector) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(data, static_cast<__mmask16>((1U << count) - 1), vector);
#elif defined(__AVX2__)
  _mm256_maskstore_ps(data, first_lanes(count), vector);
#else
  std::memcpy(data, &vector, static_cast<size_t>(count) * sizeof(float));
#endif
}

// The first `count` floats, at least one, or all.
inline FloatVector load_columns(const float* from, int64_t count) {
  return count >= kVectorFloats ? load_vector(from) : load_part(from, count);
}

inline void store_columns(float* to, int64_t count, FloatVector vector) {
  if (count >= kVectorFloats) return store_vector(to, vector);
  store_part(to, count, vector);
}

#if defined(__AVX512F__)
inline FloatVector interleave_low(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline FloatVector interleave_high(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
#elif defined(__AVX2__)
inline FloatVector interleave_low(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline FloatVector interleave_high(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#else
inline FloatVector interleave_low(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline FloatVector interleave_high(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
#endif

// One step of the perfect shuffle; log2(kVectorFloats) of them transpose the square.
inline void shuffle_step(const FloatVector (&from)[kVectorFloats],
                         FloatVector (&to)[kVectorFloats]) {
#pragma GCC unroll 8
  for (int i = 0; i < kVectorFloats / 2; ++i) {
    to[2 * i] = interleave_low(from[i], from[i + kVectorFloats / 2]);
    to[2 * i + 1] = interleave_high(from[i], from[i + kVectorFloats / 2]);
  }
}

inline void transpose(FloatVector (&square)[kVectorFloats]) {
  FloatVector other[kVectorFloats];
  shuffle_step(square, other);
  shuffle_step(other, square);
#if defined(__AVX512F__)
  shuffle_step(square, other);
  shuffle_step(other, square);
#elif defined(__AVX2__)
  shuffle_step(square, other);
#pragma GCC unroll 8
  for (int i = 0; i < kVectorFloats; ++i) square[i] = other[i];
#endif
}

}  // namespace
}  // namespace tierup::kernels
