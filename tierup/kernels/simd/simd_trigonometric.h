// Trigonometric, hyperbolic and error functions over lanes.
//
// Floats are computed in double and rounded once. Sine and cosine reduce by pi/2 in three parts
// up to kAngleLimit; the rare lanes beyond go to the C library one by one.
#pragma once

#include "tierup/kernels/simd/simd_exponential.h"

namespace tierup::kernels::TIERUP_SIMD {

inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kHalfPi[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34,
                                     0x1.3198a2e037073p-69};
// (sin(x) / x - 1) / x^2 and (cos(x) - 1 + x^2 / 2) / x^4 in x^2.
inline constexpr double kSine[] = {-0x1.5555555555555p-3,  0x1.1111111110ba5p-7,
                                   -0x1.a01a019e80693p-13, 0x1.71de379252004p-19,
                                   -0x1.ae60069e53ef1p-26, 0x1.5e098556d302ep-33};
inline constexpr double kCosine[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16960p-10,
                                     0x1.a01a019f4d0edp-16, -0x1.27e4fa15bd814p-22,
                                     0x1.1eeb66b683028p-29, -0x1.907c0e63adbb6p-37};
// (atan(x) / x - 1) / x^2 and (asin(x) / x - 1) / x^2 in x^2.
inline constexpr double kAtan[] = {
    -0x1.5555555555555p-2, 0x1.999999999932ep-3, -0x1.249249243498fp-3, 0x1.c71c718447f81p-4,
    -0x1.745d0b01b986ap-4, 0x1.3b125f7ecb403p-4, -0x1.10fa46077737ep-4, 0x1.dfe2eb7b16e67p-5,
    -0x1.a08801ffa873ap-5, 0x1.412ff26d1091bp-5, -0x1.39b5620720ceap-6};
inline constexpr double kAsin[] = {
    0x1.5555555555556p-3, 0x1.3333333332ec4p-4, 0x1.6db6db6e3292ep-5, 0x1.f1c71c1d4aa0dp-6,
    0x1.6e8bb1d89492bp-6, 0x1.1c4d343fa57f6p-6, 0x1.c9cf3759fd8ffp-7, 0x1.78246f32d075cp-7,
    0x1.524ea8b3aad31p-7, 0x1.653a8f8cfd43cp-8, 0x1.1d661531b222ep-6, -0x1.e7a24f548c99fp-7,
    0x1.d78189767524ep-6};

using Wide = Vec<double>;

// Sine and cosine of the rest after whole quarters of a turn, what their rounding lost, and the
// number of quarters.
struct Quarter {
  Wide sine;
  Wide cosine;
  Wide sine_lost;
  Wide cosine_lost;
  Wide::IntNative n;
};
TIERUP_INLINE Quarter reduce_quarter(Wide x) {
  const Rounded<double> n = round_product(x, kTwoOverPi);
  const Wide high = multiply_add(n.value, Wide(-kHalfPi[0]), x);  // Exact.
  const Wide product = n.value * Wide(kHalfPi[1]);                // Exact.
  const Wide middle = high - product;
  const Wide low = multiply_add(n.value, Wide(-kHalfPi[2]), (high - middle) - product);
  const Wide r = middle + low;
  const Wide rest = (middle - r) + low;
  const Wide z = r * r;
  const Wide sine_tail = multiply_add(r * z, polynomial(z, kSine), rest);
  const Wide sine = r + sine_tail;
  const Wide half = z * Wide(0.5);
  const Wide start = Wide(1) - half;
  const Wide lost = multiply_add(-r, rest, (Wide(1) - start) - half);
  const Wide cosine_tail = multiply_add(z * z, polynomial(z, kCosine), lost);
  const Wide cosine = start + cosine_tail;
  return {sine, cosine, (r - sine) + sine_tail, (start - cosine) + cosine_tail, n.integer};
}
TIERUP_INLINE Wide flip_sign(Wide x, Wide::IntNative n) {
  return Wide::from_bits(x.bits() ^ ((n & 2) << 62));
}
TIERUP_INLINE Wide sin(Wide x) {
  const Quarter q = reduce_quarter(x);
  const Wide value = flip_sign(select(odd_lanes<double>(q.n), q.cosine, q.sine), q.n);
  return far_lanes(x, select(x == Wide(0), x, value), Angular::kSine);
}
TIERUP_INLINE Wide cos(Wide x) {
  const Quarter q = reduce_quarter(x);
  const Wide value = flip_sign(select(odd_lanes<double>(q.n), q.sine, q.cosine), q.n + 1);
  return far_lanes(x, value, Angular::kCosine);
}
// The quotient of sine and cosine is put right by what they and it lost.
TIERUP_INLINE Wide tan(Wide x) {
  const Quarter q = reduce_quarter(x);
  const Mask<double> odd = odd_lanes<double>(q.n);
  const Wide above = select(odd, -q.cosine, q.sine);
  const Wide above_lost = select(odd, -q.cosine_lost, q.sine_lost);
  const Wide below = select(odd, q.sine, q.cosine);
  const Wide inverse = Wide(1) / below;
  const Wide quotient = above * inverse;
  const Wide lost = multiply_add(-quotient, select(odd, q.sine_lost, q.cosine_lost), above_lost);
  const Wide rest = multiply_add(-quotient, below, above) + lost;
  const Wide value = multiply_add(rest, inverse, quotient);
  return far_lanes(x, select(x == Wide(0), x, value), Angular::kTangent);
}

// Constants in two parts.
struct TwoParts {
  double high;
  double low;
};
inline constexpr TwoParts kAtanHalf = {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56};
inline constexpr TwoParts kAtanOne = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
inline constexpr TwoParts kRightAngle = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
inline constexpr TwoParts kHalfTurn = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
// The largest argument of the series.
inline constexpr double kAtanPart = 0.4142135623730950;

// By the angle to 0, 1/2, 1 or infinity, whichever leaves a small one and an exact difference.
TIERUP_INLINE Wide atan(Wide x) {
  const Wide a = abs(x);
  const Wide one(1);
  const Mask<double> is_half = a > Wide(kAtanPart);
  const Mask<double> is_one = a > Wide(1.15);
  const Mask<double> is_large = a > Wide(2.414213562373095);
  const auto choose = [&](Wide small, Wide half, Wide middle, Wide large) TIERUP_LAMBDA {
    return select(is_large, large, select(is_one, middle, select(is_half, half, small)));
  };
  // One quotient, whatever it is: divisions take the longest.
  const Wide reduced =
      choose(a, (a + a) - one, a - one, -one) / choose(one, a + Wide(2), a + one, a);
  const Wide zero(0);
  const Wide high = choose(zero, Wide(kAtanHalf.high), Wide(kAtanOne.high), Wide(kRightAngle.high));
  const Wide low = choose(zero, Wide(kAtanHalf.low), Wide(kAtanOne.low), Wide(kRightAngle.low));
  const Wide z = reduced * reduced;
  const Wide tail = multiply_add(reduced * z, polynomial(z, kAtan), low);
  return copysign(high + (reduced + tail), x);
}
// By the smaller over the larger one, or the angle to 1/2 of that: one quotient.
TIERUP_INLINE Wide atan2(Wide y, Wide x) {
  const Wide inf(INFINITY);
  const Wide ax = abs(x);
  const Wide ay = abs(y);
  const Mask<double> is_steep = ay > ax;
  const Wide most = select(is_steep, ay, ax);
  const Wide least = select(is_steep, ax, ay);
  // The quotients that have no value, 0/0 and inf/inf, and the sum that overflows.
  const Wide scale = select(most > Wide(1e300), Wide(0x1p-8), Wide(1));
  const Wide high = select(most == Wide(0), Wide(1), select(least == inf, Wide(1), most * scale));
  const Wide low = select(least == inf, Wide(1), least * scale);
  const Mask<double> is_half = low > Wide(kAtanPart) * high;
  const Wide reduced =
      select(is_half, (low + low) - high, low) / select(is_half, (high + high) + low, high);
  const Wide z = reduced * reduced;
  const Wide series = multiply_add(reduced * z, polynomial(z, kAtan), reduced);
  const Wide acute = select(is_half, Wide(kAtanHalf.high) + (series + Wide(kAtanHalf.low)), series);
  const Wide steep = Wide(kRightAngle.high) - (acute - Wide(kRightAngle.low));
  const Wide angle = select(is_steep, steep, acute);
  const Wide blunt = Wide(kHalfTurn.high) - (angle - Wide(kHalfTurn.low));
  const Wide full = select(copysign(Wide(1), x) < Wide(0), blunt, angle);
  return select((x != x) | (y != y), x + y, copysign(full, y));
}
TIERUP_INLINE Wide asin_series(Wide x) {
  const Wide z = x * x;
  return multiply_add(x * z, polynomial(z, kAsin), x);
}
TIERUP_INLINE Wide asin(Wide x) {
  const Wide a = abs(x);
  const Mask<double> outer = a > Wide(0.5);
  const Wide square = (Wide(1) - a) * Wide(0.5);
  const Wide root = sqrt(square);
  const Wide part = select(outer, root, a);
  const Wide z = part * part;
  const Wide tail = part * z * polynomial(z, kAsin);
  // What the root lost.
  const Wide lost = multiply_add(-root, root, square) / at_least(root + root, 0x1p-30);
  const Wide quarter(kAtanOne.high);
  const Wide low = (tail + lost) + (tail + lost) - Wide(kRightAngle.low);
  const Wide far = quarter - (low - (quarter - (root + root)));
  return copysign(select(outer, far, part + tail), x);
}
TIERUP_INLINE Wide acos(Wide x) {
  const Wide a = abs(x);
  const Mask<double> outer = a > Wide(0.5);
  const Wide root = sqrt((Wide(1) - a) * Wide(0.5));
  const Wide series = asin_series(select(outer, root, x));
  const Wide twice = series + series;
  return select(outer, select(x < Wide(0), Wide(M_PI) - twice, twice), Wide(M_PI_2) - series);
}

// e^a / 2 for a >= 0, which is finite where e^a no longer is.
TIERUP_INLINE Wide half_power(const Reduced<double>& reduced) {
  return scale(Wide(1) + reduced.growth, reduced.value - Wide(1), reduced.integer - 1);
}
inline constexpr double kPowersEnd = 711;
// (sinh(x) / x - 1) / x^2 in x^2 for |x| < 1.
inline constexpr double kSinh[] = {
    0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a01a01ap-13,
    0x1.71de3a556c734p-19, 0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
    0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49, 0x1.2f49b46814157p-57};
TIERUP_INLINE Wide sinh(Wide x) {
  const Wide a = abs(x);
  const Wide z = x * x;
  const Wide half = half_power(reduce_exp(at_most(a, kPowersEnd)));
  const Wide far = copysign(half - Wide(0.25) / half, x);
  return select(a < Wide(1), multiply_add(x * z, polynomial(z, kSinh), x), far);
}
TIERUP_INLINE Wide cosh(Wide x) {
  const Wide half = half_power(reduce_exp(at_most(abs(x), kPowersEnd)));
  return half + Wide(0.25) / half;
}
TIERUP_INLINE Wide asinh(Wide x) {
  const Wide a = abs(x);
  const Wide square = a * a;
  const Wide inside = log1p(a + square / (Wide(1) + sqrt(square + Wide(1))));
  const Wide far = log(a) + Wide(M_LN2);
  return copysign(select(a > Wide(1e150), far, inside), x);
}
TIERUP_INLINE Wide acosh(Wide x) {
  const Wide t = x - Wide(1);
  const Wide inside = log1p(t + sqrt(t * (t + Wide(2))));
  const Wide far = select(x > Wide(1e150), log(x) + Wide(M_LN2), inside);
  return select(x < Wide(1), Wide(NAN), far);
}
TIERUP_INLINE Wide atanh(Wide x) {
  const Wide a = abs(x);
  return copysign(Wide(0.5) * log1p((a + a) / (Wide(1) - a)), x);
}

#define TIERUP_FLOAT_THROUGH_DOUBLE(name)                                         \
  TIERUP_INLINE Vec<float> name(Vec<float> x) {                                   \
    return through_double(x, [](Wide wide) TIERUP_LAMBDA { return name(wide); }); \
  }
TIERUP_FLOAT_THROUGH_DOUBLE(sinh)
TIERUP_FLOAT_THROUGH_DOUBLE(cosh)
TIERUP_FLOAT_THROUGH_DOUBLE(asinh)
TIERUP_FLOAT_THROUGH_DOUBLE(acosh)
TIERUP_FLOAT_THROUGH_DOUBLE(atanh)
#undef TIERUP_FLOAT_THROUGH_DOUBLE

// (atan(x) / x - 1) / x^2 in x^2 for |x| < tan(pi/8), in float.
inline constexpr double kAtanFloat[] = {-0x1.55554ap-2, 0x1.9991aep-3, -0x1.23b6c0p-3,
                                        0x1.b20254p-4, -0x1.f2561cp-5};
// (asin(x) / x - 1) / x^2 in x^2 for |x| <= 1/2, in float.
inline constexpr double kAsinFloat[] = {0x1.5555cap-3, 0x1.330158p-4, 0x1.748bd0p-5, 0x1.8ba5f8p-6,
                                        0x1.59d902p-5};
// pi/2 as a float, and what it lacks.
inline constexpr double kHalfPiHigh = 0x1.921fb6p+0;
inline constexpr double kHalfPiLow = M_PI_2 - kHalfPiHigh;
// As in double; the constants in two parts.
TIERUP_INLINE Vec<float> atan(Vec<float> x) {
  const Vec<float> one(1);
  const Vec<float> zero(0);
  const Vec<float> a = abs(x);
  const Mask<float> large = a > Vec<float>(2.414213562373095);
  const Mask<float> middle = (a > Vec<float>(0.4142135623730950)) & !large;
  const Vec<float> reduced = select(large, -one, select(middle, a - one, a)) /
                             select(large, a, select(middle, a + one, one));
  const auto base = [&](double whole) TIERUP_LAMBDA {
    return select(large, Vec<float>(whole), select(middle, Vec<float>(whole / 2), zero));
  };
  const Vec<float> z = reduced * reduced;
  const Vec<float> series =
      multiply_add(Vec<float>(reduced * z), polynomial(z, kAtanFloat), reduced);
  return copysign(base(kHalfPiHigh) + (series + base(kHalfPiLow)), x);
}
// The arc sine of |x|, or of sqrt((1 - |x|) / 2) where |x| > 1/2: half the arc cosine then.
struct ArcSine {
  Mask<float> is_outer;
  Vec<float> value;
};
TIERUP_INLINE ArcSine arc_sine_of_part(Vec<float> x) {
  const Vec<float> a = abs(x);
  const Mask<float> is_outer = a > Vec<float>(0.5);
  const Vec<float> z = select(is_outer, (Vec<float>(1) - a) * Vec<float>(0.5), Vec<float>(a * a));
  const Vec<float> root = select(is_outer, sqrt(z), a);
  return {is_outer, multiply_add(Vec<float>(root * z), polynomial(z, kAsinFloat), root)};
}
TIERUP_INLINE Vec<float> asin(Vec<float> x) {
  const ArcSine part = arc_sine_of_part(x);
  const Vec<float> twice = part.value + part.value;
  const Vec<float> outer = Vec<float>(kHalfPiHigh) - (twice - Vec<float>(kHalfPiLow));
  return copysign(select(part.is_outer, outer, part.value), x);
}
TIERUP_INLINE Vec<float> acos(Vec<float> x) {
  const ArcSine part = arc_sine_of_part(x);
  const Vec<float> twice = part.value + part.value;
  const Vec<float> far = Vec<float>(2 * kHalfPiHigh) - (twice - Vec<float>(2 * kHalfPiLow));
  const Vec<float> near =
      Vec<float>(kHalfPiHigh) - (copysign(part.value, x) - Vec<float>(kHalfPiLow));
  return select(part.is_outer, select(x < Vec<float>(0), far, twice), near);
}

// The reduction of floats is done in double, the series in float.
inline constexpr double kSineFloat[] = {-0x1.555556p-3, 0x1.11110ep-7, -0x1.a013a2p-13,
                                        0x1.6dbbeep-19};
inline constexpr double kCosineFloat[] = {0x1.555556p-5, -0x1.6c16c0p-10, 0x1.a015c0p-16,
                                          -0x1.2522e6p-22};
// The series that are long enough for floats, in double: one rounding less than in float.
TIERUP_INLINE Vec<float> tan(Vec<float> x) {
  return through_double(x, [](Wide wide) TIERUP_LAMBDA {
    const Rounded<double> n = round_product(wide, kTwoOverPi);
    const Wide high = multiply_add(n.value, Wide(-kHalfPi[0]), wide);
    const Wide r = multiply_add(n.value, Wide(-kHalfPi[1]), high);
    const Wide z = r * r;
    const Wide sine = multiply_add(r * z, polynomial(z, kSineFloat), r);
    const Wide cosine = multiply_add(z * z, polynomial(z, kCosineFloat), Wide(1) - z * Wide(0.5));
    const Mask<double> odd = odd_lanes<double>(n.integer);
    const Wide value = select(odd, -cosine, sine) / select(odd, sine, cosine);
    return far_lanes(wide, select(wide == Wide(0), wide, value), Angular::kTangent);
  });
}

struct QuarterFloat {
  Vec<float> sine;
  Vec<float> cosine;
  Vec<float>::IntNative n;
};
TIERUP_INLINE QuarterFloat reduce_quarter(Vec<float> x) {
  const Turned<Vec<float>> reduced = turned_through_double(x, [](Wide wide) TIERUP_LAMBDA {
    const Wide n = round_product(wide, kTwoOverPi).value;
    const Wide high = multiply_add(n, Wide(-kHalfPi[0]), wide);
    return Turned<Wide>{multiply_add(n, Wide(-kHalfPi[1]), high), n};
  });
  const Vec<float> r = reduced.rest;
  const Vec<float> z = r * r;
  const Vec<float> sine = multiply_add(Vec<float>(r * z), polynomial(z, kSineFloat), r);
  const Vec<float> half = z * Vec<float>(0.5);
  const Vec<float> start = Vec<float>(1) - half;
  const Vec<float> lost = (Vec<float>(1) - start) - half;
  const Vec<float> cosine =
      start + multiply_add(Vec<float>(z * z), polynomial(z, kCosineFloat), lost);
  return {sine, cosine, round_small(reduced.quarters).integer};
}
TIERUP_INLINE Vec<float> quadrant(Vec<float> even, Vec<float> odd, Vec<float>::IntNative n) {
  const Vec<float> value = select(odd_lanes<float>(n), odd, even);
  return Vec<float>::from_bits(value.bits() ^ ((n & 2) << 30));
}
TIERUP_INLINE Vec<float> sin(Vec<float> x) {
  const QuarterFloat q = reduce_quarter(x);
  const Vec<float> value = quadrant(q.sine, q.cosine, q.n);
  return far_lanes(x, select(x == Vec<float>(0), x, value), Angular::kSine);
}
TIERUP_INLINE Vec<float> cos(Vec<float> x) {
  const QuarterFloat q = reduce_quarter(x);
  return far_lanes(x, quadrant(q.cosine, q.sine, q.n + ((q.n & 1) << 1)), Angular::kCosine);
}
TIERUP_INLINE Vec<float> atan2(Vec<float> y, Vec<float> x) {
  return through_double(y, x, [](Wide a, Wide b) TIERUP_LAMBDA { return atan2(a, b); });
}

// erf(x) / x - 1 in x^2 for |x| <= 1.
inline constexpr double kErfFloat[] = {0x1.06eba8p-3,  -0x1.812746p-2, 0x1.ce2f08p-4,
                                       -0x1.b829c8p-6, 0x1.562a60p-8,  -0x1.bccf66p-11,
                                       0x1.d88750p-14, -0x1.445f48p-17};
inline constexpr double kErfDouble[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,  -0x1.b82ce31284e00p-6,
    0x1.565bcd0dbaa38p-8,  -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17,
    0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30,
    0x1.05ffd737fb32ep-34};
// log(erfc(x)) in x - 1 for 1 <= x <= 4: most exact near 1, where erfc is largest.
inline constexpr double kLogErfc[] = {-0x1.d97fc0p+0, -0x1.51c9b0p+1, -0x1.afabd0p-1,
                                      -0x1.547570p-5, 0x1.48e9a4p-7,  -0x1.0653c4p-9,
                                      0x1.295c18p-12, -0x1.56de3ep-16};
// exp(x^2) erfc(x) (1 + 2x) in (x - 3) / (x + 3), for 1 <= x <= 6.
inline constexpr double kErfcxNear[] = {
    0x1.40c522d7e4987p+0,  -0x1.15c084bb9e8f6p-3,  -0x1.85a15c58aaf57p-5,  0x1.098366a5b48dep-3,
    -0x1.e88b803a23eedp-4, 0x1.17ca2877f10ebp-4,   -0x1.8574c4279d471p-6,  0x1.4b884db29eaeap-9,
    0x1.ef1c0567e5b75p-10, -0x1.98daefef091c2p-11, -0x1.b9305c3ca50ecp-14, 0x1.06405c01b1a34p-13,
    0x1.56fea76f8e4dbp-18, -0x1.4aeb5d3c995fcp-16, -0x1.192982fbf6129p-20, 0x1.32af670bbdb95p-19};

TIERUP_INLINE Vec<float> erf(Vec<float> x) {
  const Vec<float> a = abs(x);
  const Vec<float> z = x * x;
  const Vec<float> near = multiply_add(x, polynomial(z, kErfFloat), x);
  const Vec<float> t = limit(a, 1, 4) - Vec<float>(1);
  const Vec<float> far = copysign(Vec<float>(1) - exp(polynomial(t, kLogErfc)), x);
  return select(x != x, x, select(a < Vec<float>(1), near, far));
}
// erf within 8 ulp by one quotient of polynomials in x^2: for activations, where it is added to 1;
// exactly 1 from where that is the nearest number.
inline constexpr double kErfAbove[] = {0x1.20dd74p+0, 0x1.846faap-3,  0x1.af74c6p-5,
                                       0x1.e9fd04p-9, 0x1.2ae890p-12, 0x1.155b9cp-19};
inline constexpr double kErfBelow[] = {0x1p+0,        0x1.00ba20p-1,  0x1.d23384p-4,
                                       0x1.e8b582p-7, 0x1.2f65a8p-10, 0x1.41083ap-15};
TIERUP_INLINE Vec<float> erf_coarse(Vec<float> x) {
  const Vec<float> near = limit(x, -3.9, 3.9);
  const Vec<float> z = near * near;
  const Vec<float> value =
      limit(near * (polynomial(z, kErfAbove) / polynomial(z, kErfBelow)), -1, 1);
  return select(abs(x) > Vec<float>(3.9F), copysign(Vec<float>(1), x), value);
}
// erfc(a) for 1 <= a <= 6.
TIERUP_INLINE Wide erfc_tail(Wide a) {
  const Wide u = (a - Wide(3)) / (a + Wide(3));
  return exp(-(a * a)) * polynomial(u, kErfcxNear) / (Wide(1) + a + a);
}
TIERUP_INLINE Wide erf(Wide x) {
  const Wide a = abs(x);
  const Wide near = multiply_add(x, polynomial(x * x, kErfDouble), x);
  const Wide far = copysign(Wide(1) - erfc_tail(limit(a, 1, 6)), x);
  return select(x != x, x, select(a < Wide(1), near, far));
}
TIERUP_INLINE Wide erf_coarse(Wide x) { return erf(x); }
// exp(x^2) erfc(x) (1 + 2x) in (x - 2.5) / (x + 2.5) for 0 <= x <= 10.5, and exp(x) for
// |x| <= ln(2) / 2, within what a float shows.
inline constexpr double kErfcxFloat[] = {
    0x1.43cc6f5cba7afp+0,  -0x1.f52c4a27e380cp-4, -0x1.959a5bc702486p-4, 0x1.42d25086c0e70p-3,
    -0x1.a5c82fab944e8p-4, 0x1.0c843a1149b20p-5,  0x1.016f9b6573d89p-10, -0x1.21afeb547b159p-8,
    0x1.64018b33c0a88p-12, 0x1.40e0c2498ca40p-11, 0x1.4c2d52bbe739cp-14};
inline constexpr double kExpForFloat[] = {1,        1,         1.0 / 2,   1.0 / 6,
                                          1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040};
// In double, but with the precision of a float result, which is 0 from 10.5 on. One quotient serves
// as both.
TIERUP_INLINE Wide erfc_for_float(Wide x) {
  const Wide a = at_most(abs(x), 10.5);
  const Wide shifted = a + Wide(2.5);
  const Wide divisor = Wide(1) + a + a;
  const Wide inverse = Wide(1) / (shifted * divisor);
  const Wide u = (a - Wide(2.5)) * (inverse * divisor);
  const Wide exponent = -(a * a);
  const Rounded<double> n = round_product(exponent, kLog2E);
  const Wide rest = multiply_add(n.value, Wide(-M_LN2), exponent);
  const Wide power = polynomial(rest, kExpForFloat) * power_of_two<double>(n.integer);
  const Wide tail = power * (polynomial(u, kErfcxFloat) * (inverse * shifted));
  return select(x != x, x, select(x < Wide(0), Wide(2) - tail, tail));
}
TIERUP_INLINE Vec<float> erfc(Vec<float> x) {
  return through_double(x, [](Wide wide) TIERUP_LAMBDA { return erfc_for_float(wide); });
}

}  // namespace tierup::kernels::TIERUP_SIMD
