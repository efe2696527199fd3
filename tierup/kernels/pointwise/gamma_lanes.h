// Digamma, its derivative and the incomplete gamma functions over lanes.
#pragma once

#include "tierup/kernels/pointwise/special_functions.h"
#include "tierup/kernels/simd/simd_special.h"

namespace tierup::kernels::TIERUP_SIMD {

// Bernoulli numbers B2, B4, ... over their indices, and themselves.
inline constexpr double kDigammaSeries[] = {
    0x1.5555555555555p-4,  -0x1.1111111111111p-7, 0x1.0410410410410p-8,
    -0x1.1111111111111p-8, 0x1.f07c1f07c1f08p-8,  -0x1.5995995995996p-6,
    0x1.5555555555555p-4,  -0x1.c5e5e5e5e5e5ep-2, 0x1.86e7f9b9fe6e8p+1};
inline constexpr double kTrigammaSeries[] = {
    0x1.5555555555555p-3,  -0x1.1111111111111p-5, 0x1.8618618618618p-6,
    -0x1.1111111111111p-5, 0x1.364d9364d9365p-4,  -0x1.0330330330330p-2,
    0x1.2aaaaaaaaaaabp+0,  -0x1.c5e5e5e5e5e5ep+2, 0x1.b7c4f8f13e3c5p+5};

// exact(lane) where `lanes` are set.
template <typename T, typename Exact>
TIERUP_INLINE Vec<T> replaced(Vec<T> value, Mask<T> lanes, const Exact& exact) {
  if (!any(lanes)) return value;
  for (int i = 0; i < Vec<T>::kLanes; ++i) {
    if (lanes.m[i] != 0) value.v[i] = exact(i);
  }
  return value;
}

// From where on the series of digamma and trigamma are as exact as a double.
inline constexpr int kGammaShift = 8;

// Of x > 0: by the recurrence, whose fractions stand over one denominator, from 8 on by the series.
TIERUP_INLINE Wide digamma_above(Wide x) {
  const Mask<double> is_low = x < Wide(kGammaShift);
  Wide denominator = x;
  Wide numerator(1);
#pragma GCC unroll 8
  for (int i = 1; i < kGammaShift; ++i) {
    const Wide next = x + Wide(i);
    numerator = multiply_add(numerator, next, denominator);
    denominator = denominator * next;
  }
  const Wide y = select(is_low, x + Wide(kGammaShift), x);
  const Wide inverse = Wide(1) / y;
  const Wide w = inverse * inverse;
  const Wide series = multiply_add(w, polynomial(w, kDigammaSeries), Wide(0.5) * inverse);
  return (log(y) - series) - select(is_low, numerator / denominator, Wide(0));
}

TIERUP_INLINE Wide sine_of_pi(Wide r) { return r * polynomial(r * r, kSinePi); }  // |r| <= 1/2.

// Below zero by reflection. Infinite at zero, against its sign; NaN at the other poles.
TIERUP_INLINE Wide digamma(Wide x) {
  const Mask<double> is_left = x < Wide(0);
  const Wide above = digamma_above(select(is_left, Wide(1) - x, x));
  Wide value = select(x == Wide(INFINITY), x, above);
  if (any(is_left)) {
    const Wide whole = round_even(x);
    const Wide r = x - whole;
    const Wide cosine = sine_of_pi(Wide(0.5) - abs(r));
    const Wide reflected = above - Wide(M_PI) * cosine / sine_of_pi(r);
    value = select(is_left, select(x == whole, Wide(NAN), reflected), value);
  }
  return select(x == Wide(0), copysign(Wide(INFINITY), -x), value);
}
TIERUP_INLINE Vec<float> digamma(Vec<float> x) {
  return through_double(x, [](Wide wide) TIERUP_LAMBDA { return digamma(wide); });
}

TIERUP_INLINE Wide trigamma_above(Wide x) {
  const Mask<double> is_low = x < Wide(kGammaShift);
  Wide y = x;
  Wide sum(0);
#pragma GCC unroll 8
  for (int i = 0; i < kGammaShift; ++i) {
    sum = sum + Wide(1) / (y * y);
    y = y + Wide(1);
  }
  sum = select(is_low, sum, Wide(0));
  const Wide inverse = Wide(1) / select(is_low, y, x);
  const Wide w = inverse * inverse;
  const Wide series = multiply_add(w, polynomial(w, kTrigammaSeries), Wide(0.5) * inverse);
  return sum + multiply_add(series, inverse, inverse);
}
TIERUP_INLINE Vec<float> trigamma_above(Vec<float> x) {
  return through_double(x, [](Wide wide) TIERUP_LAMBDA { return trigamma_above(wide); });
}
// Reflected in the precision of its argument, as PyTorch does it: near the poles at negative
// integers the sine decides.
template <typename T>
TIERUP_INLINE Vec<T> trigamma(Vec<T> x) {
  const Mask<T> is_left = x < Vec<T>(0.5);
  const Vec<T> above = trigamma_above(select(is_left, Vec<T>(1) - x, x));
  if (!any(is_left)) return above;
  const Vec<T> sine = sin(Vec<T>(M_PI) * x);
  return select(is_left, Vec<T>(M_PI * M_PI) / (sine * sine) - above, above);
}
// Other orders number by number.
template <typename T>
TIERUP_INLINE Vec<T> polygamma(Vec<T> n, Vec<T> x) {
  return replaced(trigamma(x), n != Vec<T>(1), [&](int i) {
    return static_cast<T>(
        special::polygamma(static_cast<double>(n.v[i]), static_cast<double>(x.v[i])));
  });
}

// x^a exp(-x) / gamma(a + 1). For large a relative to its maximum, at x = a, so that the logarithms
// of large numbers do not cancel.
TIERUP_INLINE Wide gamma_term(Wide a, Wide x) {
  const Wide small = a * log(x) - x - log_gamma_above(a + Wide(1));
  const Wide away = (x - a) / a;
  const Wide ratio = select(abs(away) < Wide(0.5), log1p(away), log(x / a));
  const Wide inverse = Wide(1) / a;
  const Wide series = inverse * polynomial(inverse * inverse, kStirling);
  const Wide large = a * (ratio - away) - series - Wide(0.5) * log(Wide(2 * M_PI) * a);
  return exp(select(a >= Wide(8.5), large, small));
}

// The power series of P(a, x) over gamma_term(), for lanes where x is at most a, or 1; ones in
// others. Terms that are left out are less than half of a sum's last digit.
TIERUP_INLINE Wide incomplete_series(Wide a, Wide x) {
  Wide term(1);
  Wide sum(1);
  Wide divisor = a;
  do {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      divisor = divisor + Wide(1);
      term = term * (x / divisor);
      sum = sum + term;
    }
  } while (any(term > sum * Wide(0x1p-55)));
  return sum;
}

// The continued fraction of Q(a, x) over a gamma_term(), for lanes where x is more than a and 1
// (Abramowitz and Stegun 6.5.31, its even part): by the recurrence of its convergents. A lane
// keeps what it has once two convergents agree.
TIERUP_INLINE Wide incomplete_fraction(Wide a, Wide x) {
  Wide y = Wide(1) - a;
  Wide z = x + y + Wide(1);
  Wide count(0);
  Wide p_before(1);
  Wide q_before = x;
  Wide p = x + Wide(1);
  Wide q = z * x;
  Wide value = p / q;
  Mask<double> is_open = x == x;
  do {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      count = count + Wide(1);
      y = y + Wide(1);
      z = z + Wide(2);
      const Wide factor = y * count;
      const Wide p_next = p * z - p_before * factor;
      const Wide q_next = q * z - q_before * factor;
      p_before = p;
      q_before = q;
      p = p_next;
      q = q_next;
    }
    const Wide next = p / q;
    const Mask<double> differs = abs(next - value) > abs(next) * Wide(0x1p-52);
    value = select(is_open, next, value);
    is_open = is_open & differs;
    const Wide scale = select(abs(q) > Wide(0x1p200), Wide(0x1p-200), Wide(1));
    p_before = p_before * scale;
    q_before = q_before * scale;
    p = p * scale;
    q = q * scale;
  } while (any(is_open));
  return value;
}

// P(a, x), or Q = 1 - P. Number by number where a is so large that both ways are long, or 1 - P
// would lose digits, and outside of the functions' range.
template <bool kUpper>
TIERUP_INLINE Wide incomplete_gamma(Wide a, Wide x) {
  const Wide one(1);
  const Mask<double> is_plain = (a > Wide(0)) & (x > Wide(0)) & (a <= Wide(200)) & (x <= Wide(1e6));
  const Mask<double> is_below = (x <= a) | (x <= one);
  const Mask<double> by_series = is_plain & is_below;
  const Mask<double> by_fraction = is_plain & !is_below;
  const Wide term = gamma_term(select(is_plain, a, one), select(is_plain, x, one));
  Wide lower(0);
  Wide upper(0);
  if (any(by_series)) {
    lower = term * incomplete_series(select(by_series, a, one), select(by_series, x, Wide(0.5)));
    upper = one - lower;
  }
  if (any(by_fraction)) {
    const Wide fraction =
        incomplete_fraction(select(by_fraction, a, one), select(by_fraction, x, Wide(2)));
    const Wide value = term * a * fraction;
    upper = select(by_fraction, value, upper);
    lower = select(by_fraction, one - value, lower);
  }
  const Mask<double> is_lost = by_series & (upper < Wide(0.01));
  return replaced(kUpper ? upper : lower, kUpper ? !is_plain | is_lost : !is_plain, [&](int i) {
    return (kUpper ? special::igammac : special::igamma)(a.v[i], x.v[i]);
  });
}
TIERUP_INLINE Wide igamma(Wide a, Wide x) { return incomplete_gamma<false>(a, x); }
TIERUP_INLINE Wide igammac(Wide a, Wide x) { return incomplete_gamma<true>(a, x); }
TIERUP_INLINE Vec<float> igamma(Vec<float> a, Vec<float> x) {
  return through_double(a, x, [](Wide b, Wide y) TIERUP_LAMBDA { return igamma(b, y); });
}
TIERUP_INLINE Vec<float> igammac(Vec<float> a, Vec<float> x) {
  return through_double(a, x, [](Wide b, Wide y) TIERUP_LAMBDA { return igammac(b, y); });
}

}  // namespace tierup::kernels::TIERUP_SIMD
