// Sixteen f32 lanes on whatever vectors the including file is compiled for.
//
// Everything is local to the including file, so that code for one instruction set never leaks
// into another. Nothing but multiply_add contracts a product and a sum: where the instruction sets
// have that instruction, they give the same bits (decision 0022).
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "tierup/kernels/simd/unrolled_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int kLanes = 16;
constexpr int kParts = kLanes * 4 / kVectorBytes;

using LaneVector = FloatVector;
typedef int32_t LaneInts __attribute__((vector_size(kVectorBytes)));

struct Lanes {
  LaneVector part[kParts];
};

// The lanes whose parts are make(index of the part). Parts are named by constants, not by a loop
// that the compiler may keep: the lanes of two vectors then stand in registers, too.
template <typename Make>
TIERUP_INLINE Lanes each_part(const Make& make) {
  Lanes result;
  for_each<kParts>([&](auto i) TIERUP_INLINED { result.part[i] = make(i); });
  return result;
}

TIERUP_INLINE Lanes broadcast(float value) {
  return each_part([&](int) TIERUP_INLINED { return value - LaneVector{}; });
}
TIERUP_INLINE Lanes load(const float* x) {
  return each_part([&](int i) TIERUP_INLINED { return load_vector(x + i * kVectorFloats); });
}
// The first `count` elements; `rest` in the other lanes.
inline Lanes load_some(const float* x, int64_t count, float rest) {
  Lanes result = broadcast(rest);
#if defined(__AVX512F__)
  result.part[0] =
      _mm512_mask_loadu_ps(result.part[0], static_cast<__mmask16>((1U << count) - 1), x);
#elif defined(__AVX2__)
  for_each<kParts>([&](auto i) TIERUP_INLINED {
    const __m256i mask = first_lanes(count - i * kVectorFloats);
    const FloatVector given = _mm256_maskload_ps(x + i * kVectorFloats, mask);
    result.part[i] = _mm256_blendv_ps(result.part[i], given, _mm256_castsi256_ps(mask));
  });
#else
  std::memcpy(&result, x, static_cast<size_t>(count) * sizeof(float));
#endif
  return result;
}
TIERUP_INLINE void store(float* y, const Lanes& lanes) {
  for_each<kParts>([&](auto i)
                       TIERUP_INLINED { store_vector(y + i * kVectorFloats, lanes.part[i]); });
}
inline void store_some(float* y, const Lanes& lanes, int64_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(y, static_cast<__mmask16>((1U << count) - 1), lanes.part[0]);
#elif defined(__AVX2__)
  for_each<kParts>([&](auto i) TIERUP_INLINED {
    _mm256_maskstore_ps(y + i * kVectorFloats, first_lanes(count - i * kVectorFloats),
                        lanes.part[i]);
  });
#else
  std::memcpy(y, &lanes, static_cast<size_t>(count) * sizeof(float));
#endif
}

#define TIERUP_LANES_OPERATOR(op)                                                    \
  TIERUP_INLINE Lanes operator op(const Lanes& a, const Lanes& b) {                  \
    return each_part([&](auto i) TIERUP_INLINED { return a.part[i] op b.part[i]; }); \
  }
TIERUP_LANES_OPERATOR(+)
TIERUP_LANES_OPERATOR(-)
TIERUP_LANES_OPERATOR(*)
TIERUP_LANES_OPERATOR(/)
#undef TIERUP_LANES_OPERATOR

// The larger of both; NaN if one is.
TIERUP_INLINE LaneVector larger_vector(LaneVector x, LaneVector y) {
  return ((x > y) | (x != x)) ? x : y;
}
TIERUP_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
  return each_part([&](auto i) TIERUP_INLINED { return larger_vector(a.part[i], b.part[i]); });
}

TIERUP_INLINE Lanes square_root(const Lanes& x) {
#if defined(__AVX512F__)
  return each_part([&](auto i) TIERUP_INLINED { return _mm512_maskz_sqrt_ps(0xFFFF, x.part[i]); });
#elif defined(__AVX2__)
  return each_part([&](auto i) TIERUP_INLINED { return _mm256_sqrt_ps(x.part[i]); });
#else
  return each_part([&](auto i) TIERUP_INLINED {
    LaneVector roots;
    for (int j = 0; j < kVectorFloats; ++j) roots[j] = __builtin_sqrtf(x.part[i][j]);
    return roots;
  });
#endif
}

template <typename Combine>
inline float reduce_lanes(Lanes lanes, const Combine& combine) {
  return reduce_parts(lanes.part, combine);
}

inline float sum_of_lanes(const Lanes& lanes) {
  return reduce_lanes(lanes, [](LaneVector a, LaneVector b) { return a + b; });
}
inline float max_of_lanes(const Lanes& lanes) {
  return reduce_lanes(lanes, [](LaneVector a, LaneVector b) { return larger_vector(a, b); });
}

// e^v = 2^n (1 + growth), |n| <= 128; n stands in the last bits of `shifted`.
struct ExpParts {
  LaneVector growth;
  LaneInts shifted;
};

// v = n ln 2 + r with |r| <= ln 2 / 2.
struct ExpRest {
  LaneVector r, n;
  LaneInts shifted;  // n stands in its last bits.
};

TIERUP_INLINE ExpRest exp_rest(LaneVector v) {
  const auto constant = [](float value) { return value - LaneVector{}; };
  const LaneVector magic = constant(12582912.0F);  // 1.5 * 2^23: adding it rounds.
  const LaneVector shifted = multiply_add(v, constant(1.44269504F), magic);
  const LaneVector n = shifted - magic;
  const LaneVector high = multiply_add(n, constant(-0.693359375F), v);
  return {multiply_add(n, constant(2.12194440e-4F), high), n, reinterpret_cast<LaneInts>(shifted)};
}

// e^r - 1 = r + r^2 q(r), as in simd_exponential.h.
TIERUP_INLINE ExpParts exp_parts(LaneVector v) {
  const auto constant = [](float value) { return value - LaneVector{}; };
  const ExpRest rest = exp_rest(v);
  const LaneVector r = rest.r;
  const LaneVector square = r * r;
  LaneVector q = multiply_add(constant(0x1.122c52p-7F), r, constant(0x1.555538p-5F));
  q = multiply_add(constant(0x1.6cd790p-10F), square, q);
  q = multiply_add(q, square, multiply_add(constant(0x1.5554aap-3F), r, constant(0.5F)));
  return {multiply_add(square, q, r), rest.shifted};
}

// exp(x), within 1 ulp for results that are normal numbers; smaller ones become 0.
TIERUP_INLINE LaneVector exp_vector(LaneVector given) {
  const LaneVector lowest = -87.33654F - LaneVector{};
  const LaneVector highest = 88.72283F - LaneVector{};
  LaneVector v = given < lowest ? lowest : given;
  v = v > highest ? highest : v;
  const ExpParts parts = exp_parts(v);
  // Between these bounds the result's exponent is that of a normal number.
  const LaneVector p = parts.growth + 1.0F;
  const LaneInts bits = reinterpret_cast<LaneInts>(p) + (parts.shifted << 23);
  const LaneVector inside = given < lowest ? LaneVector{} : reinterpret_cast<LaneVector>(bits);
  // Infinity beyond the bound, and NaN. All lanes take part, and FloatWatch sees what they raise:
  // by a sum with infinity, -infinity would.
  return given <= highest ? inside : given * std::numeric_limits<float>::max();
}
TIERUP_INLINE Lanes exp_lanes(const Lanes& x) {
  return each_part([&](auto i) TIERUP_INLINED { return exp_vector(x.part[i]); });
}

// 2^n of exp_parts(), where it is a normal number.
inline LaneVector power_of(const ExpParts& parts) {
  const LaneInts one = reinterpret_cast<LaneInts>(1.0F - LaneVector{});
  return reinterpret_cast<LaneVector>((parts.shifted << 23) + one);
}

// tanh(x) = (e^2a - 1) / (e^2a + 1) for a = -|x|, with the sign of x.
inline LaneVector tanh_vector(LaneVector x) {
  const LaneInts sign = reinterpret_cast<LaneInts>(-0.0F - LaneVector{});
  const LaneInts given = reinterpret_cast<LaneInts>(x);
  const LaneVector a = reinterpret_cast<LaneVector>(given | sign);
  const LaneVector lowest = -10.0F - LaneVector{};
  const LaneVector v = a < lowest ? lowest : a;
  const ExpParts parts = exp_parts(v + v);
  const LaneVector power = power_of(parts);
  const LaneVector quotient = multiply_add(power, parts.growth, power - 1.0F) /
                              multiply_add(power, parts.growth, power + 1.0F);
  const LaneInts size = reinterpret_cast<LaneInts>(quotient) & ~sign;
  return reinterpret_cast<LaneVector>(size | (given & sign));
}
TIERUP_INLINE Lanes tanh_lanes(const Lanes& x) {
  return each_part([&](auto i) TIERUP_INLINED { return tanh_vector(x.part[i]); });
}

}  // namespace
}  // namespace tierup::kernels
