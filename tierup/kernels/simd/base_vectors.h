// What the compiler's plain vectors of 16 bytes cannot say, in the instructions that every
// processor of the architecture has: SSE4.2 on x86-64, NEON on AArch64. The only place that names
// them.
//
// For files compiled for the base level; everything is local to the including file.
#pragma once

#if defined(__x86_64__)
#include <smmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#error "base_vectors.h knows x86-64 and AArch64"
#endif

#include <cstdint>

#define TIERUP_BASE inline __attribute__((always_inline, unused))

namespace tierup::kernels {
namespace {

typedef float BaseFloats __attribute__((vector_size(16)));
typedef double BaseDoubles __attribute__((vector_size(16)));
typedef int32_t BaseInts __attribute__((vector_size(16)));

#if defined(__x86_64__)
#define TIERUP_BASE_FUSES 0
// a * b + c.
TIERUP_BASE BaseFloats base_multiply_add(BaseFloats a, BaseFloats b, BaseFloats c) {
  return a * b + c;
}
TIERUP_BASE BaseDoubles base_multiply_add(BaseDoubles a, BaseDoubles b, BaseDoubles c) {
  return a * b + c;
}
#define TIERUP_BASE_ROUNDING(name, mode)                                      \
  TIERUP_BASE BaseFloats name(BaseFloats x) {                                 \
    return (BaseFloats)_mm_round_ps((__m128)x, (mode) | _MM_FROUND_NO_EXC);   \
  }                                                                           \
  TIERUP_BASE BaseDoubles name(BaseDoubles x) {                               \
    return (BaseDoubles)_mm_round_pd((__m128d)x, (mode) | _MM_FROUND_NO_EXC); \
  }
TIERUP_BASE_ROUNDING(base_round_even, _MM_FROUND_TO_NEAREST_INT)
TIERUP_BASE_ROUNDING(base_floor, _MM_FROUND_TO_NEG_INF)
TIERUP_BASE_ROUNDING(base_ceil, _MM_FROUND_TO_POS_INF)
TIERUP_BASE_ROUNDING(base_trunc, _MM_FROUND_TO_ZERO)
#undef TIERUP_BASE_ROUNDING
TIERUP_BASE BaseFloats base_sqrt(BaseFloats x) { return (BaseFloats)_mm_sqrt_ps((__m128)x); }
TIERUP_BASE BaseDoubles base_sqrt(BaseDoubles x) { return (BaseDoubles)_mm_sqrt_pd((__m128d)x); }
TIERUP_BASE bool base_any(BaseInts mask) {
  return _mm_testz_si128((__m128i)mask, (__m128i)mask) == 0;
}
// x between both bounds, which are numbers; NaN where x is, and with it the flag.
TIERUP_BASE BaseFloats base_clamp(BaseFloats x, BaseFloats low, BaseFloats high) {
  return (BaseFloats)_mm_max_ps((__m128)low, _mm_min_ps((__m128)high, (__m128)x));
}
#else
#define TIERUP_BASE_FUSES 1
// a * b + c, rounded once.
TIERUP_BASE BaseFloats base_multiply_add(BaseFloats a, BaseFloats b, BaseFloats c) {
  return (BaseFloats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
TIERUP_BASE BaseDoubles base_multiply_add(BaseDoubles a, BaseDoubles b, BaseDoubles c) {
  return (BaseDoubles)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#define TIERUP_BASE_FUNCTION(name, instruction)            \
  TIERUP_BASE BaseFloats name(BaseFloats x) {              \
    return (BaseFloats)instruction##_f32((float32x4_t)x);  \
  }                                                        \
  TIERUP_BASE BaseDoubles name(BaseDoubles x) {            \
    return (BaseDoubles)instruction##_f64((float64x2_t)x); \
  }
TIERUP_BASE_FUNCTION(base_round_even, vrndnq)
TIERUP_BASE_FUNCTION(base_floor, vrndmq)
TIERUP_BASE_FUNCTION(base_ceil, vrndpq)
TIERUP_BASE_FUNCTION(base_trunc, vrndq)
TIERUP_BASE_FUNCTION(base_sqrt, vsqrtq)
#undef TIERUP_BASE_FUNCTION
TIERUP_BASE bool base_any(BaseInts mask) { return vmaxvq_u32((uint32x4_t)mask) != 0; }
// By comparisons: NEON's smaller and larger number raise no flag for NaN.
TIERUP_BASE BaseFloats base_clamp(BaseFloats x, BaseFloats low, BaseFloats high) {
  const BaseFloats below = high < x ? high : x;
  return low > below ? low : below;
}
#endif

#undef TIERUP_BASE

}  // namespace
}  // namespace tierup::kernels
