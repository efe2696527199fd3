// Sixteen f32 lanes on whatever vectors the including file is compiled for.
//
// Everything is local to the including file, so that code for one instruction set never leaks
// into another. No operation contracts a product and a sum, so all widths give the same bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "tierup/kernels/vectors_body.h"

namespace tierup::kernels {
namespace {

constexpr int kLanes = 16;
constexpr int kParts = kLanes * 4 / kVectorBytes;

using LaneVector = FloatVector;
typedef int32_t LaneInts __attribute__((vector_size(kVectorBytes)));

struct Lanes {
  LaneVector part[kParts];
};

inline Lanes broadcast(float value) {
  Lanes result;
  for (int i = 0; i < kParts; ++i) result.part[i] = value - LaneVector{};
  return result;
}
inline Lanes load(const float* x) {
  Lanes result;
  std::memcpy(&result, x, sizeof(result));
  return result;
}
// The first `count` elements; `rest` in the other lanes.
inline Lanes load_some(const float* x, int64_t count, float rest) {
  Lanes result = broadcast(rest);
  std::memcpy(&result, x, static_cast<size_t>(count) * sizeof(float));
  return result;
}
inline void store(float* y, const Lanes& lanes) { std::memcpy(y, &lanes, sizeof(lanes)); }
inline void store_some(float* y, const Lanes& lanes, int64_t count) {
  std::memcpy(y, &lanes, static_cast<size_t>(count) * sizeof(float));
}

#define TIERUP_LANES_OPERATOR(op)                                             \
  inline Lanes operator op(const Lanes& a, const Lanes& b) {                  \
    Lanes result;                                                             \
    for (int i = 0; i < kParts; ++i) result.part[i] = a.part[i] op b.part[i]; \
    return result;                                                            \
  }
TIERUP_LANES_OPERATOR(+)
TIERUP_LANES_OPERATOR(-)
TIERUP_LANES_OPERATOR(*)
TIERUP_LANES_OPERATOR(/)
#undef TIERUP_LANES_OPERATOR

// The larger of both; NaN if one is.
inline Lanes larger(const Lanes& a, const Lanes& b) {
  Lanes result;
  for (int i = 0; i < kParts; ++i) {
    const LaneVector x = a.part[i];
    const LaneVector y = b.part[i];
    result.part[i] = ((x > y) | (x != x)) ? x : y;
  }
  return result;
}

// Lanes of one vector rotated by `step`, for the trees below.
template <int kStep>
inline LaneVector rotated(LaneVector v) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(v, v, kStep, kStep + 1, kStep + 2, kStep + 3, kStep + 4, kStep + 5,
                                 kStep + 6, kStep + 7, kStep + 8, kStep + 9, kStep + 10, kStep + 11,
                                 kStep + 12, kStep + 13, kStep + 14, kStep + 15);
#elif defined(__AVX2__)
  return __builtin_shufflevector(v, v, kStep, kStep + 1, kStep + 2, kStep + 3, kStep + 4, kStep + 5,
                                 kStep + 6, kStep + 7);
#else
  return __builtin_shufflevector(v, v, kStep, kStep + 1, kStep + 2, kStep + 3);
#endif
}

// Halves are combined until one lane is left: lane i with i + 8, then i + 4, i + 2, i + 1.
template <typename Combine>
inline float reduce_lanes(Lanes lanes, const Combine& combine) {
  for (int parts = kParts; parts > 1; parts /= 2) {
    for (int i = 0; i < parts / 2; ++i)
      lanes.part[i] = combine(lanes.part[i], lanes.part[i + parts / 2]);
  }
  LaneVector v = lanes.part[0];
  if constexpr (kVectorBytes >= 64) v = combine(v, rotated<8>(v));
  if constexpr (kVectorBytes >= 32) v = combine(v, rotated<4>(v));
  v = combine(v, rotated<2>(v));
  v = combine(v, rotated<1>(v));
  return v[0];
}

inline float sum_of_lanes(const Lanes& lanes) {
  return reduce_lanes(lanes, [](LaneVector a, LaneVector b) { return a + b; });
}
inline float max_of_lanes(const Lanes& lanes) {
  return reduce_lanes(lanes,
                      [](LaneVector a, LaneVector b) { return ((a > b) | (a != a)) ? a : b; });
}

// exp(x), within 1 ulp for results that are normal numbers; smaller ones become 0.
// x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) by the polynomial of Cephes' expf.
inline Lanes exp_lanes(const Lanes& x) {
  Lanes result;
  for (int i = 0; i < kParts; ++i) {
    const LaneVector lowest = -87.33654F - LaneVector{};
    const LaneVector highest = 88.72284F - LaneVector{};
    const LaneVector given = x.part[i];
    LaneVector v = given < lowest ? lowest : given;
    v = v > highest ? highest : v;
    const LaneVector magic = 12582912.0F - LaneVector{};
    const LaneVector n = (v * 1.44269504F + magic) - magic;
    const LaneVector r = (v - n * 0.693359375F) - n * -2.12194440e-4F;
    LaneVector p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
    // 2^n in two steps, since n reaches 128.
    const LaneInts whole = __builtin_convertvector(n, LaneInts);
    const LaneInts half = whole >> 1;
    const LaneInts first = (half + 127) << 23;
    const LaneInts second = (whole - half + 127) << 23;
    p = p * reinterpret_cast<LaneVector>(first) * reinterpret_cast<LaneVector>(second);
    const LaneVector infinity = std::numeric_limits<float>::infinity() - LaneVector{};
    p = given < lowest ? LaneVector{} : p;
    p = given > highest ? infinity : p;
    result.part[i] = given != given ? given : p;
  }
  return result;
}

// tanh(x): a polynomial near 0, where 1 - 2 / (exp(2 x) + 1) would lose digits.
inline Lanes tanh_lanes(const Lanes& x) {
  const Lanes one = broadcast(1);
  const Lanes two = broadcast(2);
  const Lanes far = one - two / (exp_lanes(x * two) + one);
  Lanes result;
  for (int i = 0; i < kParts; ++i) {
    const LaneVector v = x.part[i];
    const LaneVector z = v * v;
    LaneVector p = z * -5.70498872745e-3F + 2.06390887954e-2F;
    p = p * z - 5.37397155531e-2F;
    p = p * z + 1.33314422036e-1F;
    p = p * z - 3.33332819422e-1F;
    p = p * z * v + v;
    const LaneVector bound = 0.625F - LaneVector{};
    result.part[i] = ((v > bound) | (v < -bound) | (v != v)) ? far.part[i] : p;
  }
  return result;
}

}  // namespace
}  // namespace tierup::kernels
