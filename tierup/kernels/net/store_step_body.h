// The steps of store_step.h on vectors. Compiled once per instruction set; everything is local to
// the including file.
#pragma once

#include <iterator>
#include <limits>

#include "tierup/kernels/net/store_step.h"
#include "tierup/kernels/simd/lanes_body.h"
#include "tierup/kernels/simd/unrolled_body.h"

namespace tierup::kernels::net {
namespace {

// NaN where x is.
inline LaneVector larger_lanes(LaneVector x, LaneVector y) { return x <= y ? y : x; }
inline LaneVector smaller_lanes(LaneVector x, LaneVector y) { return x >= y ? y : x; }

// 1 / x for 1 <= x < 1e38, within 2 units of the last place.
inline LaneVector reciprocal(LaneVector x) {
#if defined(__AVX512F__)
  const LaneVector guess = _mm512_rcp14_ps(x);
  return multiply_add(guess, multiply_add(-x, guess, 1.0F - LaneVector{}), guess);
#else
  return 1.0F / x;
#endif
}

// x / 6, rounded as a division is wherever the result is a normal number or zero: a first quotient
// and what it leaves, which is NaN for infinities. A division takes as long as twelve
// multiplications.
inline LaneVector sixth(LaneVector x) {
  if constexpr (!kFuses) return x / 6.0F;
  const LaneVector factor = 1.0F / 6.0F - LaneVector{};
  const LaneVector quotient = x * factor;
  const LaneVector better =
      multiply_add(multiply_add(quotient, 6.0F - LaneVector{}, -x), -factor, quotient);
  return better == better ? better : quotient;
}

constexpr float kMostExponent = 87;

// x, moved to the range from -end to end; NaN where x is.
inline LaneVector within(LaneVector x, float end) {
  const LaneVector most = end - LaneVector{};
  // One operation each, whose result is the second number where one is NaN.
#if defined(__AVX512F__)
  return _mm512_max_ps(-most, _mm512_min_ps(most, x));
#elif defined(__AVX2__)
  return _mm256_max_ps(-most, _mm256_min_ps(most, x));
#else
  return base_clamp(x, -most, most);
#endif
}

// p 2^n, where both are normal numbers.
inline LaneVector scale_by_power(LaneVector p, const ExpRest& rest) {
#if defined(__AVX512F__)
  return _mm512_scalef_ps(p, rest.n);
#else
  return reinterpret_cast<LaneVector>(reinterpret_cast<LaneInts>(p) + (rest.shifted << 23));
#endif
}

// exp(-v) within 2 units of the last place, for v between -kMostExponent and kMostExponent, to
// which others are moved: 2^n exp(r), |r| <= ln 2 / 2. The polynomial has the least relative error
// of its degree, 1.1e-7.
inline LaneVector exp_of_negative(LaneVector v) {
  const ExpRest rest = exp_rest(-within(v, kMostExponent));
  const LaneVector r = rest.r;
  LaneVector p = multiply_add(r, 8.312501013e-3F - LaneVector{}, 4.1890330613e-2F - LaneVector{});
  p = multiply_add(p, r, 1.6667115688e-1F - LaneVector{});
  p = multiply_add(p, r, 4.9999231100e-1F - LaneVector{});
  p = multiply_add(p, r, 1.0F - LaneVector{});
  p = multiply_add(p, r, 1.0F - LaneVector{});
  return scale_by_power(p, rest);
}

// x / (1 + exp(-v)), within 5 units of the last place of results that are normal numbers.
inline LaneVector gated_lanes(LaneVector x, LaneVector v) {
  const LaneVector factor = reciprocal(exp_of_negative(v) + 1.0F);
  return x * (v < -kMostExponent - LaneVector{} ? LaneVector{} : factor);
}

// NaN for -infinity, as the formula has it.
inline LaneVector swish_lanes(LaneVector x) { return gated_lanes(x, x); }

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3): a gate of 2 u.
inline LaneVector gelu_tanh_lanes(LaneVector x) {
  const LaneVector cubic = 0.0713548162726F - LaneVector{};
  const LaneVector linear = 1.59576912161F - LaneVector{};
  return gated_lanes(x, x * multiply_add(x * x, cubic, linear));
}

// erf(v) / v for |v| <= 3.88 in 2 (v / 3.88)^2 - 1, by least error of erf: 7.6e-8, and 2.6e-7 in
// floats. At 3.88 it is more than 1 / 3.88.
constexpr float kErfEnd = 3.88F;
constexpr float kErfOverPlace[] = {0x1.753260p-2F, -0x1.74935ep-3F, 0x1.1516a4p-3F, -0x1.c2016ap-4F,
                                   0x1.73c512p-4F, -0x1.2e0674p-4F, 0x1.d444f6p-5F, -0x1.51f006p-5F,
                                   0x1.e04a2ap-6F, -0x1.5dacfep-6F, 0x1.817926p-7F, -0x1.c707a2p-9F,
                                   0x1.74713ep-9F, -0x1.e96e1cp-9F, 0x1.7f642ap-10F};

// x (1 + erf(x / sqrt(2))) / 2: neither a division nor an exponential, which take longer than the
// polynomial. Within 2e-7 of max(1, |x|): where 1 + erf is less than that, below -5, of the result
// no place is sure, and from -5.5 on it is zero. NaN for -infinity, as the formula has it.
inline LaneVector gelu_erf_lanes(LaneVector x) {
  const LaneVector v = within(x * 0.70710678118654752F, kErfEnd);
  const LaneVector t =
      multiply_add(v * v, 2 / (kErfEnd * kErfEnd) - LaneVector{}, -1 - LaneVector{});
  // Even powers and odd ones side by side: one chain is as long as what waits for a processor.
  const LaneVector square = t * t;
  constexpr int kLast = std::size(kErfOverPlace) - 1;
  LaneVector even = kErfOverPlace[kLast] - LaneVector{};
  LaneVector odd = kErfOverPlace[kLast - 1] - LaneVector{};
  for_each<kLast / 2 - 1>([&](auto i) TIERUP_INLINED {
    even = multiply_add(even, square, kErfOverPlace[kLast - 2 - 2 * i] - LaneVector{});
    odd = multiply_add(odd, square, kErfOverPlace[kLast - 3 - 2 * i] - LaneVector{});
  });
  even = multiply_add(even, square, kErfOverPlace[0] - LaneVector{});
  const LaneVector half = x * 0.5F;
  return multiply_add(half, within(v * multiply_add(odd, t, even), 1), half);
}

inline LaneVector sigmoid_lanes(LaneVector x) { return gated_lanes(1.0F - LaneVector{}, x); }
// alpha (exp(x) - 1) below zero, of which nothing is lost near zero.
inline LaneVector elu_lanes(LaneVector x, LaneVector alpha) {
  const LaneVector lowest = -kMostExponent - LaneVector{};
  LaneVector v = x < lowest ? lowest : x;
  v = v > LaneVector{} ? LaneVector{} : v;
  const ExpParts parts = exp_parts(v);
  const LaneVector power = power_of(parts);
  return x < LaneVector{} ? alpha * multiply_add(power, parts.growth, power - 1.0F) : x;
}

// Calls use(change), change being the step on one vector; not for sums.
template <typename Use>
inline void with_step(const StoreStep& step, const Use& use) {
  const LaneVector alpha = step.alpha - LaneVector{};
  const LaneVector beta = step.beta - LaneVector{};
  switch (step.kind) {
    case StoreStep::Kind::kSum: break;
    case StoreStep::Kind::kRelu:
      use([](LaneVector x) { return larger_lanes(x, LaneVector{}); });
      break;
    case StoreStep::Kind::kClip:
      use([=](LaneVector x) { return smaller_lanes(larger_lanes(x, alpha), beta); });
      break;
    case StoreStep::Kind::kLinear: use([=](LaneVector x) { return x * alpha + beta; }); break;
    case StoreStep::Kind::kSwish: use([](LaneVector x) { return swish_lanes(x); }); break;
    case StoreStep::Kind::kGeluErf: use([](LaneVector x) { return gelu_erf_lanes(x); }); break;
    case StoreStep::Kind::kGeluTanh: use([](LaneVector x) { return gelu_tanh_lanes(x); }); break;
    case StoreStep::Kind::kLeakyRelu:
      use([=](LaneVector x) { return x < LaneVector{} ? x * alpha : x; });
      break;
    case StoreStep::Kind::kElu: use([=](LaneVector x) { return elu_lanes(x, alpha); }); break;
    case StoreStep::Kind::kTanh: use([](LaneVector x) { return tanh_vector(x); }); break;
    case StoreStep::Kind::kSigmoid: use([](LaneVector x) { return sigmoid_lanes(x); }); break;
    case StoreStep::Kind::kHardswish:
      use([](LaneVector x) {
        const LaneVector six = 6.0F - LaneVector{};
        return sixth(x * smaller_lanes(larger_lanes(x + 3.0F, LaneVector{}), six));
      });
      break;
  }
}

}  // namespace
}  // namespace tierup::kernels::net
