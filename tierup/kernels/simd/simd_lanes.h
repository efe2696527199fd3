// Vec<T>: the lanes of one vector register.
//
// The including file is compiled for one instruction set (its name ends in _base, _avx2 or
// _avx512); everything here lies in a namespace of that instruction set and is always inlined, so
// that no instruction of one set leaks into code meant for another. Only operations with one
// correct result are used, so sets differ in bits where multiply_add does, and nowhere else:
// decision 0022.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#else
#include "tierup/kernels/simd/base_vectors.h"
#endif

#include <cmath>
#include <cstdint>

#include "tierup/kernels/simd/angular.h"

#if defined(__AVX512F__)
#define TIERUP_SIMD simd_avx512
#define TIERUP_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define TIERUP_SIMD simd_avx2
#define TIERUP_VECTOR_BYTES 32
#else
#define TIERUP_SIMD simd_base
#define TIERUP_VECTOR_BYTES 16
#endif
#define TIERUP_INLINE inline __attribute__((always_inline))
#define TIERUP_LAMBDA __attribute__((always_inline))

namespace tierup::kernels::TIERUP_SIMD {

template <typename T>
struct LaneTraits;
template <>
struct LaneTraits<float> {
  using Int = int32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer.
};
template <>
struct LaneTraits<double> {
  using Int = int64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr double kMagic = 6755399441055744.0;
};

// All ones where true.
template <typename T>
struct Mask {
  using Int = typename LaneTraits<T>::Int;
  typedef Int Native __attribute__((vector_size(TIERUP_VECTOR_BYTES)));
  Native m;

  friend TIERUP_INLINE Mask operator|(Mask a, Mask b) { return {a.m | b.m}; }
  friend TIERUP_INLINE Mask operator&(Mask a, Mask b) { return {a.m & b.m}; }
  friend TIERUP_INLINE Mask operator!(Mask a) { return {~a.m}; }
};

template <typename T>
struct Vec {
  static constexpr int kLanes = TIERUP_VECTOR_BYTES / static_cast<int>(sizeof(T));
  using Traits = LaneTraits<T>;
  using Int = typename Traits::Int;
  typedef T Native __attribute__((vector_size(TIERUP_VECTOR_BYTES)));
  typedef Int IntNative __attribute__((vector_size(TIERUP_VECTOR_BYTES)));
  Native v;

  Vec() = default;
  TIERUP_INLINE Vec(Native native) : v(native) {}  // NOLINT(google-explicit-constructor)
  TIERUP_INLINE explicit Vec(double constant) : v(static_cast<T>(constant) - Native{}) {}
  static TIERUP_INLINE Vec load(const T* from) {
    Vec result;
    __builtin_memcpy(&result.v, from, sizeof(Native));
    return result;
  }
  TIERUP_INLINE void store(T* to) const { __builtin_memcpy(to, &v, sizeof(Native)); }
  // The first `count` lanes, less than all of them; ones in the others.
  static Vec load_some(const T* from, int64_t count);
  void store_some(T* to, int64_t count) const;
  // Reinterpreted as integers of the same width, and back.
  TIERUP_INLINE IntNative bits() const { return (IntNative)v; }
  static TIERUP_INLINE Vec from_bits(IntNative bits) { return Vec((Native)bits); }

  friend TIERUP_INLINE Vec operator+(Vec a, Vec b) { return a.v + b.v; }
  friend TIERUP_INLINE Vec operator-(Vec a, Vec b) { return a.v - b.v; }
  friend TIERUP_INLINE Vec operator*(Vec a, Vec b) { return a.v * b.v; }
  friend TIERUP_INLINE Vec operator/(Vec a, Vec b) { return a.v / b.v; }
  friend TIERUP_INLINE Vec operator-(Vec a) { return -a.v; }
  friend TIERUP_INLINE Mask<T> operator<(Vec a, Vec b) { return {a.v < b.v}; }
  friend TIERUP_INLINE Mask<T> operator<=(Vec a, Vec b) { return {a.v <= b.v}; }
  friend TIERUP_INLINE Mask<T> operator>(Vec a, Vec b) { return {a.v > b.v}; }
  friend TIERUP_INLINE Mask<T> operator>=(Vec a, Vec b) { return {a.v >= b.v}; }
  friend TIERUP_INLINE Mask<T> operator==(Vec a, Vec b) { return {a.v == b.v}; }
  friend TIERUP_INLINE Mask<T> operator!=(Vec a, Vec b) { return {a.v != b.v}; }
};

#if TIERUP_VECTOR_BYTES == 64
TIERUP_INLINE __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1);
}
template <typename T>
TIERUP_INLINE Vec<T> Vec<T>::load_some(const T* from, int64_t count) {
  const Vec ones(1.0);
  if constexpr (sizeof(T) == 4)
    return Vec(Native(_mm512_mask_loadu_ps((__m512)ones.v, first_lanes(count), from)));
  else
    return Vec(Native(_mm512_mask_loadu_pd((__m512d)ones.v, first_lanes(count), from)));
}
template <typename T>
TIERUP_INLINE void Vec<T>::store_some(T* to, int64_t count) const {
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(to, first_lanes(count), (__m512)v);
  else
    _mm512_mask_storeu_pd(to, first_lanes(count), (__m512d)v);
}
#elif TIERUP_VECTOR_BYTES == 32
template <typename T>
TIERUP_INLINE __m256i first_lanes(int64_t count) {
  if constexpr (sizeof(T) == 4) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  } else {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
}
template <typename T>
TIERUP_INLINE Vec<T> Vec<T>::load_some(const T* from, int64_t count) {
  const __m256i mask = first_lanes<T>(count);
  const Vec ones(1.0);
  if constexpr (sizeof(T) == 4) {
    return Vec(Native(_mm256_blendv_ps((__m256)ones.v, _mm256_maskload_ps(from, mask),
                                       _mm256_castsi256_ps(mask))));
  } else {
    return Vec(Native(_mm256_blendv_pd((__m256d)ones.v, _mm256_maskload_pd(from, mask),
                                       _mm256_castsi256_pd(mask))));
  }
}
template <typename T>
TIERUP_INLINE void Vec<T>::store_some(T* to, int64_t count) const {
  if constexpr (sizeof(T) == 4)
    _mm256_maskstore_ps(to, first_lanes<T>(count), (__m256)v);
  else
    _mm256_maskstore_pd(to, first_lanes<T>(count), (__m256d)v);
}
#else
template <typename T>
TIERUP_INLINE Vec<T> Vec<T>::load_some(const T* from, int64_t count) {
  Vec result(1.0);
  __builtin_memcpy(&result.v, from, static_cast<size_t>(count) * sizeof(T));
  return result;
}
template <typename T>
TIERUP_INLINE void Vec<T>::store_some(T* to, int64_t count) const {
  __builtin_memcpy(to, &v, static_cast<size_t>(count) * sizeof(T));
}
#endif

template <typename T>
TIERUP_INLINE Vec<T> select(Mask<T> condition, Vec<T> yes, Vec<T> no) {
  return condition.m ? yes.v : no.v;
}
template <typename T>
TIERUP_INLINE typename Vec<T>::IntNative sign_bits() {
  return Vec<T>(-0.0).bits();
}
template <typename T>
TIERUP_INLINE Vec<T> abs(Vec<T> x) {
  return Vec<T>::from_bits(x.bits() & ~sign_bits<T>());
}
template <typename T>
TIERUP_INLINE Vec<T> copysign(Vec<T> x, Vec<T> sign) {
  return Vec<T>::from_bits((x.bits() & ~sign_bits<T>()) | (sign.bits() & sign_bits<T>()));
}

// a * b + c, rounded once where the set has an instruction for it; else after each step.
template <typename T>
TIERUP_INLINE Vec<T> multiply_add(Vec<T> a, Vec<T> b, Vec<T> c) {
  using Native = typename Vec<T>::Native;
#if TIERUP_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return Vec<T>(Native(_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)));
  else
    return Vec<T>(Native(_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v)));
#elif TIERUP_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4)
    return Vec<T>(Native(_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v)));
  else
    return Vec<T>(Native(_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v)));
#else
  return Vec<T>(Native(base_multiply_add(a.v, b.v, c.v)));
#endif
}

// x times 2^n, rounded once; n as a number and as integer lanes. Not every set has it.
inline constexpr bool kScalesAtOnce = TIERUP_VECTOR_BYTES == 64;
#if TIERUP_VECTOR_BYTES == 64
template <typename T>
TIERUP_INLINE Vec<T> scaled(Vec<T> x, Vec<T> n, typename Vec<T>::IntNative /*integer*/) {
  if constexpr (sizeof(T) == 4) {
    return Vec<T>(typename Vec<T>::Native(_mm512_scalef_ps((__m512)x.v, (__m512)n.v)));
  } else {
    return Vec<T>(typename Vec<T>::Native(_mm512_scalef_pd((__m512d)x.v, (__m512d)n.v)));
  }
}
#endif

enum class Rounding { kEven, kDown, kUp, kZero };
template <Rounding kMode, typename T>
TIERUP_INLINE Vec<T> round_to(Vec<T> x) {
#if TIERUP_VECTOR_BYTES > 16
  constexpr int kCode = static_cast<int>(kMode) | _MM_FROUND_NO_EXC;
#endif
#if TIERUP_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4) {
    return Vec<T>(typename Vec<T>::Native(_mm512_roundscale_ps((__m512)x.v, kCode)));
  } else {
    return Vec<T>(typename Vec<T>::Native(_mm512_roundscale_pd((__m512d)x.v, kCode)));
  }
#elif TIERUP_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4) {
    return Vec<T>(typename Vec<T>::Native(_mm256_round_ps((__m256)x.v, kCode)));
  } else {
    return Vec<T>(typename Vec<T>::Native(_mm256_round_pd((__m256d)x.v, kCode)));
  }
#else
  switch (kMode) {
    case Rounding::kEven: return Vec<T>(base_round_even(x.v));
    case Rounding::kDown: return Vec<T>(base_floor(x.v));
    case Rounding::kUp: return Vec<T>(base_ceil(x.v));
    case Rounding::kZero: break;
  }
  return Vec<T>(base_trunc(x.v));
#endif
}
template <typename T>
TIERUP_INLINE Vec<T> round_even(Vec<T> x) {
  return round_to<Rounding::kEven>(x);
}
template <typename T>
TIERUP_INLINE Vec<T> floor(Vec<T> x) {
  return round_to<Rounding::kDown>(x);
}
template <typename T>
TIERUP_INLINE Vec<T> ceil(Vec<T> x) {
  return round_to<Rounding::kUp>(x);
}
template <typename T>
TIERUP_INLINE Vec<T> trunc(Vec<T> x) {
  return round_to<Rounding::kZero>(x);
}

template <typename T>
TIERUP_INLINE Vec<T> sqrt(Vec<T> x) {
#if TIERUP_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4)
    return Vec<T>(typename Vec<T>::Native(_mm512_sqrt_ps((__m512)x.v)));
  else
    return Vec<T>(typename Vec<T>::Native(_mm512_sqrt_pd((__m512d)x.v)));
#elif TIERUP_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4)
    return Vec<T>(typename Vec<T>::Native(_mm256_sqrt_ps((__m256)x.v)));
  else
    return Vec<T>(typename Vec<T>::Native(_mm256_sqrt_pd((__m256d)x.v)));
#else
  return Vec<T>(base_sqrt(x.v));
#endif
}

// The halves of a float vector and the whole of two halves, without a detour through memory.
typedef float HalfFloats __attribute__((vector_size(TIERUP_VECTOR_BYTES / 2)));
#if TIERUP_VECTOR_BYTES == 64
#define TIERUP_LOW_LANES 0, 1, 2, 3, 4, 5, 6, 7
#define TIERUP_HIGH_LANES 8, 9, 10, 11, 12, 13, 14, 15
#elif TIERUP_VECTOR_BYTES == 32
#define TIERUP_LOW_LANES 0, 1, 2, 3
#define TIERUP_HIGH_LANES 4, 5, 6, 7
#else
#define TIERUP_LOW_LANES 0, 1
#define TIERUP_HIGH_LANES 2, 3
#endif
TIERUP_INLINE Vec<double> low_half(Vec<float> x) {
  return Vec<double>(__builtin_convertvector(__builtin_shufflevector(x.v, x.v, TIERUP_LOW_LANES),
                                             Vec<double>::Native));
}
TIERUP_INLINE Vec<double> high_half(Vec<float> x) {
  return Vec<double>(__builtin_convertvector(__builtin_shufflevector(x.v, x.v, TIERUP_HIGH_LANES),
                                             Vec<double>::Native));
}
TIERUP_INLINE Vec<float> join_halves(Vec<double> low, Vec<double> high) {
  const HalfFloats a = __builtin_convertvector(low.v, HalfFloats);
  const HalfFloats b = __builtin_convertvector(high.v, HalfFloats);
  return Vec<float>(__builtin_shufflevector(a, b, TIERUP_LOW_LANES, TIERUP_HIGH_LANES));
}

// f over the lanes of a float vector, computed in double and rounded once.
template <typename F>
TIERUP_INLINE Vec<float> through_double(Vec<float> x, const F& f) {
  return join_halves(f(low_half(x)), f(high_half(x)));
}
template <typename F>
TIERUP_INLINE Vec<float> through_double(Vec<float> x, Vec<float> y, const F& f) {
  return join_halves(f(low_half(x), low_half(y)), f(high_half(x), high_half(y)));
}

template <typename F>
TIERUP_INLINE Turned<Vec<float>> turned_through_double(Vec<float> x, const F& f) {
  const Turned<Vec<double>> low = f(low_half(x));
  const Turned<Vec<double>> high = f(high_half(x));
  return {join_halves(low.rest, high.rest), join_halves(low.quarters, high.quarters)};
}

// Whether any lane is set.
template <typename T>
TIERUP_INLINE bool any(Mask<T> mask) {
#if TIERUP_VECTOR_BYTES == 64
  return _mm512_test_epi32_mask((__m512i)mask.m, (__m512i)mask.m) != 0;
#elif TIERUP_VECTOR_BYTES == 32
  return _mm256_testz_si256((__m256i)mask.m, (__m256i)mask.m) == 0;
#else
  return base_any((BaseInts)mask.m);
#endif
}

// Lanes whose number is odd.
template <typename T>
TIERUP_INLINE Mask<T> odd_lanes(typename Vec<T>::IntNative n) {
  return {-(n & 1)};
}

// Replaces lanes where |x| is beyond the limit of angles, or not finite, by the library's value.
template <typename T>
TIERUP_INLINE Vec<T> far_lanes(Vec<T> x, Vec<T> near, Angular function) {
  const Mask<T> far = !(abs(x) < Vec<T>(kAngleLimit));
  if (!any(far)) return near;
  for (int i = 0; i < Vec<T>::kLanes; ++i) {
    if (far.m[i] != 0)
      near.v[i] = static_cast<T>(library_value(function, static_cast<double>(x.v[i])));
  }
  return near;
}

}  // namespace tierup::kernels::TIERUP_SIMD
