// Vector code of the narrow conversions, for the instruction set of the including file. The
// results are those of half.h, bit for bit (but for the payload of NaNs).
#pragma once

#include "tierup/kernels/memory/vector_casts.h"
#include "tierup/kernels/simd/simd.h"

namespace tierup::kernels::TIERUP_SIMD {

// Of floats, one register full: of wider ones the compiler makes loops through memory.
inline constexpr int kChunk = TIERUP_VECTOR_BYTES / 4;
typedef float Floats __attribute__((vector_size(kChunk * 4)));
typedef uint32_t Words __attribute__((vector_size(kChunk * 4)));
typedef int32_t Ints __attribute__((vector_size(kChunk * 4)));
typedef uint16_t Narrow __attribute__((vector_size(kChunk * 2)));

TIERUP_INLINE Words widen(Narrow x) { return __builtin_convertvector(x, Words); }

#if TIERUP_VECTOR_BYTES == 64
TIERUP_INLINE Floats half_to_float(Narrow x) { return (Floats)_mm512_cvtph_ps((__m256i)x); }
TIERUP_INLINE Narrow float_to_half(Floats x) {
  return (Narrow)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif TIERUP_VECTOR_BYTES == 32
TIERUP_INLINE Floats half_to_float(Narrow x) { return (Floats)_mm256_cvtph_ps((__m128i)x); }
TIERUP_INLINE Narrow float_to_half(Floats x) {
  return (Narrow)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
}
#else
TIERUP_INLINE Floats half_to_float(Narrow x) {
  const Words bits = widen(x);
  const Words sign = (bits & 0x8000U) << 16;
  const Words magnitude = bits & 0x7fffU;
  const Words normal = (magnitude << 13) + 0x38000000U;
  const Words special = (magnitude << 13) + 0x70000000U;
  const Floats tiny = __builtin_convertvector((Ints)magnitude, Floats) * 5.9604644775390625e-08F;
  const Words small = magnitude < 0x400U ? (Words)tiny : normal;
  return (Floats)(sign | (magnitude >= 0x7c00U ? special : small));
}
TIERUP_INLINE Narrow float_to_half(Floats x) {
  const Words bits = (Words)x;
  const Words sign = (bits >> 16) & 0x8000U;
  const Words magnitude = bits & 0x7fffffffU;
  const Words tiny = (Words)((Floats)magnitude + 0.5F) - 0x3f000000U;
  const Words normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const Words finite = magnitude < 0x38800000U ? tiny : normal;
  const Words large = magnitude > 0x7f800000U ? Words{} + 0x7e00U : Words{} + 0x7c00U;
  const Words result = sign | (magnitude >= 0x477ff000U ? large : finite);
  return __builtin_convertvector(result, Narrow);
}
#endif

TIERUP_INLINE Floats bfloat_to_float(Narrow x) { return (Floats)(widen(x) << 16); }
TIERUP_INLINE Narrow float_to_bfloat(Floats x) {
  const Words bits = (Words)x;
  const Words rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const Words nan = Words{} + 0x7fc0U;
  return __builtin_convertvector((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded, Narrow);
}

typedef uint8_t Bytes __attribute__((vector_size(kChunk)));
#if TIERUP_VECTOR_BYTES == 64
TIERUP_INLINE Floats bytes_to_float(Bytes x) {
  return (Floats)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32((__m128i)x));
}
#elif TIERUP_VECTOR_BYTES == 32
TIERUP_INLINE Floats bytes_to_float(Bytes x) {
  return (Floats)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)x)));
}
#else
TIERUP_INLINE Floats bytes_to_float(Bytes x) {
  return __builtin_convertvector(__builtin_convertvector(x, Ints), Floats);
}
#endif

// Whole chunks, then the last one anew up to the end, or a padded one where there is none before.
template <typename To, typename From, auto kConvert>
void convert_dense(char* out, const char* in, int64_t count) {
  constexpr size_t kTo = sizeof(To) / kChunk;
  constexpr size_t kFrom = sizeof(From) / kChunk;
  const auto convert_at = [&](int64_t i, size_t some) TIERUP_LAMBDA {
    From source{};
    __builtin_memcpy(&source, in + i * kFrom, some * kFrom);
    const To result = kConvert(source);
    __builtin_memcpy(out + i * kTo, &result, some * kTo);
  };
  if (count < kChunk) return convert_at(0, static_cast<size_t>(count));
  for (int64_t i = 0; i + kChunk <= count; i += kChunk) convert_at(i, kChunk);
  if (count % kChunk != 0) convert_at(count - kChunk, kChunk);
}

// Numbers within 32 bits are truncated to these first; chunks with others go one by one.
template <typename To>
TIERUP_INLINE void store_ints(Ints n, To* out) {
  typedef To Narrowed __attribute__((vector_size(kChunk * sizeof(To))));
  const Narrowed narrowed = __builtin_convertvector(n, Narrowed);
  __builtin_memcpy(out, &narrowed, sizeof(narrowed));
}
TIERUP_INLINE void store_ints(Ints n, int64_t* out) {
  typedef int32_t Half __attribute__((vector_size(kChunk * 2)));
  typedef int64_t Longs __attribute__((vector_size(kChunk * 4)));
  Half halves[2];
  __builtin_memcpy(halves, &n, sizeof(halves));
  for (int i = 0; i < 2; ++i) {
    const Longs longs = __builtin_convertvector(halves[i], Longs);
    __builtin_memcpy(out + i * kChunk / 2, &longs, sizeof(longs));
  }
}
template <typename To>
void convert_truncated(char* to, const char* from, int64_t count) {
  const float* in = reinterpret_cast<const float*>(from);
  To* out = reinterpret_cast<To*>(to);
  const Vec<float> limit(0x1p31);
  int64_t i = 0;
  for (; i + kChunk <= count; i += kChunk) {
    const Vec<float> x = Vec<float>::load(in + i);
    if (any(!(abs(x) < limit))) {
      truncate_floats(out + i, in + i, kChunk);
    } else {
      store_ints(__builtin_convertvector((Floats)x.v, Ints), out + i);
    }
  }
  truncate_floats(out + i, in + i, count - i);
}

#if TIERUP_VECTOR_BYTES > 16
#if TIERUP_VECTOR_BYTES == 64
TIERUP_INLINE __m256i truncated_doubles(Vec<double> x) { return _mm512_cvttpd_epi32((__m512d)x.v); }
#else
TIERUP_INLINE __m128i truncated_doubles(Vec<double> x) { return _mm256_cvttpd_epi32((__m256d)x.v); }
#endif
// The instruction makes the smallest number of what does not fit.
inline void truncate_doubles(char* to, const char* from, int64_t count) {
  constexpr int64_t kLanes = Vec<double>::kLanes;
  const double* in = reinterpret_cast<const double*>(from);
  int32_t* out = reinterpret_cast<int32_t*>(to);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rest = count - i;
    const auto whole = rest < kLanes ? truncated_doubles(Vec<double>::load_some(in + i, rest))
                                     : truncated_doubles(Vec<double>::load(in + i));
    __builtin_memcpy(out + i, &whole,
                     rest < kLanes ? static_cast<size_t>(rest) * 4 : sizeof(whole));
  }
}
DenseCast double_to_ints() { return &truncate_doubles; }
#else
// The plain loop.
DenseCast double_to_ints() { return nullptr; }
#endif
DenseCast float_to_bytes() { return &convert_truncated<uint8_t>; }
DenseCast float_to_chars() { return &convert_truncated<int8_t>; }
DenseCast float_to_shorts() { return &convert_truncated<int16_t>; }
DenseCast float_to_ints() { return &convert_truncated<int32_t>; }
DenseCast float_to_longs() { return &convert_truncated<int64_t>; }
DenseCast half_to_float() {
  return &convert_dense<Floats, Narrow, static_cast<Floats (*)(Narrow)>(&half_to_float)>;
}
DenseCast float_to_half() {
  return &convert_dense<Narrow, Floats, static_cast<Narrow (*)(Floats)>(&float_to_half)>;
}
DenseCast bfloat_to_float() {
  return &convert_dense<Floats, Narrow, static_cast<Floats (*)(Narrow)>(&bfloat_to_float)>;
}
DenseCast bytes_to_float() {
  return &convert_dense<Floats, Bytes, static_cast<Floats (*)(Bytes)>(&bytes_to_float)>;
}
DenseCast float_to_bfloat() {
  return &convert_dense<Narrow, Floats, static_cast<Narrow (*)(Floats)>(&float_to_bfloat)>;
}

}  // namespace tierup::kernels::TIERUP_SIMD
