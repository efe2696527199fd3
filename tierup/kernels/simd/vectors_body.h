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
#include <utility>

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

// The lanes from kStep on, and then those before.
template <int kStep, int... kPlaces>
inline FloatVector rotated(FloatVector v, std::integer_sequence<int, kPlaces...> /*places*/) {
  return __builtin_shufflevector(v, v, (kPlaces + kStep) % kVectorFloats...);
}

// Halves are combined until one lane is left: of sixteen, lane i with i + 8, then i + 4, i + 2 and
// i + 1. `parts` is scratch memory afterwards.
template <int kParts, typename Combine>
inline float reduce_parts(FloatVector (&parts)[kParts], const Combine& combine) {
  constexpr auto kPlaces = std::make_integer_sequence<int, kVectorFloats>();
  for (int half = kParts / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) parts[i] = combine(parts[i], parts[i + half]);
  }
  FloatVector v = parts[0];
  if constexpr (kVectorFloats > 8) v = combine(v, rotated<8>(v, kPlaces));
  if constexpr (kVectorFloats > 4) v = combine(v, rotated<4>(v, kPlaces));
  v = combine(v, rotated<2>(v, kPlaces));
  v = combine(v, rotated<1>(v, kPlaces));
  return v[0];
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

// The first `count` doubles, of 0 to kVectorDoubles, and zeros.
inline DoubleVector load_part(const double* data, int64_t count) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << count) - 1), data);
#elif defined(__AVX2__)
  return _mm256_maskload_pd(data, first_lanes(2 * count));
#else
  DoubleVector result{};
  std::memcpy(&result, data, static_cast<size_t>(count) * sizeof(double));
  return result;
#endif
}

inline void store_part(double* data, int64_t count, DoubleVector vector) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(data, static_cast<__mmask8>((1U << count) - 1), vector);
#elif defined(__AVX2__)
  _mm256_maskstore_pd(data, first_lanes(2 * count), vector);
#else
  std::memcpy(data, &vector, static_cast<size_t>(count) * sizeof(double));
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

// The lanes whose bits are set, and zeros; the others are not read.
inline FloatVector load_masked(const float* data, uint32_t lanes) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), data);
#elif defined(__AVX2__)
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i is_set =
      _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes)), bits), bits);
  return _mm256_maskload_ps(data, is_set);
#else
  FloatVector result{};
  for (int i = 0; i < kVectorFloats; ++i) {
    if ((lanes >> i & 1U) != 0) result[i] = data[i];
  }
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

// By quads of lanes: single numbers of both, or pairs, from the low or the high half of each quad.
#if defined(__AVX512F__)
#define TIERUP_OF_PAIRS(function, a, b) \
  _mm512_castpd_ps(function(_mm512_castps_pd(a), _mm512_castps_pd(b)))
inline FloatVector low_singles(FloatVector a, FloatVector b) { return _mm512_unpacklo_ps(a, b); }
inline FloatVector high_singles(FloatVector a, FloatVector b) { return _mm512_unpackhi_ps(a, b); }
inline FloatVector low_pairs(FloatVector a, FloatVector b) {
  return TIERUP_OF_PAIRS(_mm512_unpacklo_pd, a, b);
}
inline FloatVector high_pairs(FloatVector a, FloatVector b) {
  return TIERUP_OF_PAIRS(_mm512_unpackhi_pd, a, b);
}
#undef TIERUP_OF_PAIRS
#elif defined(__AVX2__)
#define TIERUP_OF_PAIRS(function, a, b) \
  _mm256_castpd_ps(function(_mm256_castps_pd(a), _mm256_castps_pd(b)))
inline FloatVector low_singles(FloatVector a, FloatVector b) { return _mm256_unpacklo_ps(a, b); }
inline FloatVector high_singles(FloatVector a, FloatVector b) { return _mm256_unpackhi_ps(a, b); }
inline FloatVector low_pairs(FloatVector a, FloatVector b) {
  return TIERUP_OF_PAIRS(_mm256_unpacklo_pd, a, b);
}
inline FloatVector high_pairs(FloatVector a, FloatVector b) {
  return TIERUP_OF_PAIRS(_mm256_unpackhi_pd, a, b);
}
#undef TIERUP_OF_PAIRS
#else
inline FloatVector low_singles(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline FloatVector high_singles(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
inline FloatVector low_pairs(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 0, 1, 4, 5);
}
inline FloatVector high_pairs(FloatVector a, FloatVector b) {
  return __builtin_shufflevector(a, b, 2, 3, 6, 7);
}
#endif

constexpr int kVectorQuads = kVectorFloats / 4;

// Each of the four quads by quads that lie below one another is transposed in its place; the four
// results stand `step` apart.
inline void transpose_quads(const FloatVector* rows, FloatVector* to, int step) {
  const FloatVector low_ab = low_singles(rows[0], rows[1]);
  const FloatVector high_ab = high_singles(rows[0], rows[1]);
  const FloatVector low_cd = low_singles(rows[2], rows[3]);
  const FloatVector high_cd = high_singles(rows[2], rows[3]);
  to[0] = low_pairs(low_ab, low_cd);
  to[step] = high_pairs(low_ab, low_cd);
  to[2 * step] = low_pairs(high_ab, high_cd);
  to[3 * step] = high_pairs(high_ab, high_cd);
}

// Quad q of result i is quad i of rows[q]; results stand `step` apart.
inline void move_quads(const FloatVector* rows, FloatVector* to, int step) {
#if defined(__AVX512F__)
  const FloatVector low_ab = _mm512_shuffle_f32x4(rows[0], rows[1], 0x44);
  const FloatVector high_ab = _mm512_shuffle_f32x4(rows[0], rows[1], 0xee);
  const FloatVector low_cd = _mm512_shuffle_f32x4(rows[2], rows[3], 0x44);
  const FloatVector high_cd = _mm512_shuffle_f32x4(rows[2], rows[3], 0xee);
  to[0] = _mm512_shuffle_f32x4(low_ab, low_cd, 0x88);
  to[step] = _mm512_shuffle_f32x4(low_ab, low_cd, 0xdd);
  to[2 * step] = _mm512_shuffle_f32x4(high_ab, high_cd, 0x88);
  to[3 * step] = _mm512_shuffle_f32x4(high_ab, high_cd, 0xdd);
#elif defined(__AVX2__)
  to[0] = _mm256_permute2f128_ps(rows[0], rows[1], 0x20);
  to[step] = _mm256_permute2f128_ps(rows[0], rows[1], 0x31);
#else
  static_cast<void>(step);
  to[0] = rows[0];
#endif
}

// The numbers at even and at odd places of two vectors in a row.
inline void part_pairs(FloatVector a, FloatVector b, FloatVector& even, FloatVector& odd) {
#if defined(__AVX512F__)
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif defined(__AVX2__)
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

// Most shuffles stay within a quad of lanes: those between quads take longer.
inline void transpose(FloatVector (&square)[kVectorFloats]) {
  FloatVector parts[kVectorFloats];
#pragma GCC unroll 4
  for (int i = 0; i < kVectorQuads; ++i) transpose_quads(square + 4 * i, parts + i, kVectorQuads);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) move_quads(parts + kVectorQuads * i, square + i, 4);
}

constexpr int kVectorDoubles = kVectorBytes / static_cast<int>(sizeof(double));

inline void transpose(DoubleVector (&square)[kVectorDoubles]) {
  FloatVector rows[kVectorDoubles];
  FloatVector even[kVectorQuads];
  FloatVector odd[kVectorQuads];
  std::memcpy(rows, square, sizeof(square));
#pragma GCC unroll 4
  for (int i = 0; i < kVectorQuads; ++i) {
    even[i] = low_pairs(rows[2 * i], rows[2 * i + 1]);
    odd[i] = high_pairs(rows[2 * i], rows[2 * i + 1]);
  }
  move_quads(even, rows, 2);
  move_quads(odd, rows + 1, 2);
  std::memcpy(square, rows, sizeof(square));
}

}  // namespace
}  // namespace tierup::kernels
