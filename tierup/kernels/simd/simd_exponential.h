// exp, log and their kin over lanes, within 2 ulp.
//
// exp: x = n ln 2 + r with |r| <= ln 2 / 2, then e^r - 1 = r + r^2 q(r) and scaling by 2^n in two
// steps (so that subnormal results come out right). log: x = 2^n (1 + f), then a polynomial in f
// (float) or in s^2 with s = f / (2 + f) (double). ln 2 stands as a sum of a short high part, whose
// product with n is exact, and a low part.
#pragma once

#include "tierup/kernels/simd/simd.h"

namespace tierup::kernels::TIERUP_SIMD {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;

// (e^r - 1 - r) / r^2; kExpm1Float has a term more.
inline constexpr double kExpm1Float[] = {0x1.000000p-1, 0x1.555556p-3,  0x1.5554e8p-5,
                                         0x1.1110e0p-7, 0x1.6d444ap-10, 0x1.a125f6p-13};
inline constexpr double kExpFloat[] = {0x1.000000p-1, 0x1.5554aap-3, 0x1.555538p-5, 0x1.122c52p-7,
                                       0x1.6cd790p-10};
inline constexpr double kExpDouble[] = {
    0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,  0x1.111111111009cp-7,
    0x1.6c16c16c162b0p-10, 0x1.a01a01ac0a9eep-13, 0x1.a01a01a6ec522p-16, 0x1.71de01c3fc936p-19,
    0x1.27e4db25ce3adp-22, 0x1.af4ecd2129492p-26, 0x1.1f7385560be05p-29};
// (log(1 + f) - f + f^2 / 2) / f^3.
inline constexpr double kLogFloat[] = {0x1.555556p-2, -0x1.fffff2p-3, 0x1.9999a8p-3, -0x1.555c54p-3,
                                       0x1.249688p-3, -0x1.fdfb82p-4, 0x1.c41b8cp-4, -0x1.b4116ap-4,
                                       0x1.af581ep-4, -0x1.fc06e2p-5};
// (2 atanh(s) / s - 2) / s^2 in s^2.
inline constexpr double kLogDouble[] = {
    0x1.5555555555555p-1, 0x1.9999999999a39p-2, 0x1.2492492476a1ap-2, 0x1.c71c7201a55d7p-3,
    0x1.745cf8e4bba1bp-3, 0x1.3b1c3c1c81c8fp-3, 0x1.0fbde0f4ad17bp-3, 0x1.0c0aff044a970p-3};

template <typename T>
struct Ln2;
template <>
struct Ln2<float> {
  static constexpr double kHigh = 0.693359375;
  static constexpr double kLow = -2.12194440054690583e-4;
};
template <>
struct Ln2<double> {
  static constexpr double kHigh = 0x1.62e42fee00000p-1;
  static constexpr double kLow = 0x1.a39ef35793c76p-33;
};

// e^r - 1 for the small rest r of a reduction by 2^n. No Rounded within it: GCC copies a struct in
// a struct through memory, half a register at a time, which each reader of the whole waits for.
template <typename T>
struct Reduced {
  Vec<T> growth;
  Vec<T> value;  // n
  typename Vec<T>::IntNative integer;
};
template <typename T>
TIERUP_INLINE Vec<T> growth_of(Vec<T> r) {
  if constexpr (sizeof(T) == 4)
    return multiply_add(Vec<T>(r * r), polynomial(r, kExpFloat), r);
  else
    return multiply_add(Vec<T>(r * r), polynomial(r, kExpDouble), r);
}
// x - n ln 2.
template <typename T>
TIERUP_INLINE Vec<T> rest_of(Vec<T> x, Vec<T> n) {
  const Vec<T> high = multiply_add(n, Vec<T>(-Ln2<T>::kHigh), x);  // Exact.
  return multiply_add(n, Vec<T>(-Ln2<T>::kLow), high);
}
template <typename T>
TIERUP_INLINE Reduced<T> reduce_exp(Vec<T> x) {
  const Rounded<T> n = round_product(x, kLog2E);
  return {growth_of(rest_of(x, n.value)), n.value, n.integer};
}
// For functions that the growth makes most of.
template <typename T>
TIERUP_INLINE Reduced<T> reduce_expm1(Vec<T> x) {
  const Rounded<T> n = round_product(x, kLog2E);
  const Vec<T> r = rest_of(x, n.value);
  if constexpr (sizeof(T) == 4)
    return {multiply_add(Vec<T>(r * r), polynomial(r, kExpm1Float), r), n.value, n.integer};
  else
    return {growth_of(r), n.value, n.integer};
}
// These leave NaN as it is, by one instruction each.
template <typename T>
TIERUP_INLINE Vec<T> at_most(Vec<T> x, double high) {
  return select(x > Vec<T>(high), Vec<T>(high), x);
}
template <typename T>
TIERUP_INLINE Vec<T> at_least(Vec<T> x, double low) {
  return select(x < Vec<T>(low), Vec<T>(low), x);
}
template <typename T>
TIERUP_INLINE Vec<T> limit(Vec<T> x, double low, double high) {
  return at_least(at_most(x, high), low);
}
// x times 2^n, rounded once.
template <typename T>
TIERUP_INLINE Vec<T> scale(Vec<T> x, Vec<T> value, typename Vec<T>::IntNative integer) {
  if constexpr (kScalesAtOnce) {
    return scaled(x, value, integer);
  } else {
    const auto half = integer >> 1;
    return (x * power_of_two<T>(half)) * power_of_two<T>(integer - half);
  }
}

template <typename T>
TIERUP_INLINE Vec<T> exp(Vec<T> x) {
  const bool single = sizeof(T) == 4;
  const Reduced<T> reduced = reduce_exp(limit(x, single ? -104.5 : -746.0, single ? 89.0 : 710.0));
  return scale(Vec<T>(1) + reduced.growth, reduced.value, reduced.integer);
}

template <typename T>
TIERUP_INLINE Vec<T> exp2(Vec<T> x) {
  const bool single = sizeof(T) == 4;
  const Vec<T> limited = limit(x, single ? -151.0 : -1076.0, single ? 129.0 : 1025.0);
  const Rounded<T> n = round_small(limited);
  const Vec<T> rest = limited - n.value;
  // The product with ln 2 in two parts keeps the exponent's full precision.
  const Vec<T> r = multiply_add(rest, Vec<T>(Ln2<T>::kHigh), Vec<T>(rest * Vec<T>(Ln2<T>::kLow)));
  return scale(Vec<T>(1) + growth_of(r), n.value, n.integer);
}

template <typename T>
TIERUP_INLINE Vec<T> expm1(Vec<T> x) {
  const bool single = sizeof(T) == 4;
  const double top = single ? 64.0 : 500.0;
  const Reduced<T> reduced = reduce_expm1(limit(x, single ? -40.0 : -80.0, top));
  const Vec<T> power = power_of_two<T>(reduced.integer);
  const Vec<T> near = multiply_add(power, reduced.growth, Vec<T>(power - Vec<T>(1)));
  // A zero keeps its sign; large arguments are plain exponentials.
  return select(x > Vec<T>(top), exp(x), select(x == Vec<T>(0), x, near));
}

// log(1 + f) + low for f in [sqrt(1/2) - 1, sqrt(2) - 1] and a small `low`.
template <typename T>
TIERUP_INLINE Vec<T> log_near_one(Vec<T> f, Vec<T> low) {
  const Vec<T> square = f * f;
  if constexpr (sizeof(T) == 4) {
    const Vec<T> cubic = multiply_add(Vec<T>(square * f), polynomial(f, kLogFloat), low);
    return f + multiply_add(square, Vec<T>(-0.5), cubic);
  } else {
    const Vec<T> half = square * Vec<T>(0.5);
    const Vec<T> s = f / (Vec<T>(2) + f);
    const Vec<T> z = s * s;
    const Vec<T> wide = multiply_add(z, polynomial(z, kLogDouble), half);
    return f - (half - multiply_add(s, wide, low));
  }
}
// log(1 + f) + correction, plus n ln 2.
template <typename T>
TIERUP_INLINE Vec<T> log_of_reduced(Vec<T> f, Vec<T> n, Vec<T> correction) {
  const Vec<T> low = multiply_add(n, Vec<T>(Ln2<T>::kLow), correction);
  // The product with the high part is exact.
  return multiply_add(n, Vec<T>(Ln2<T>::kHigh), log_near_one(f, low));
}

// Results at the ends: log(0) = -inf, log of a negative number is NaN, inf and NaN stay.
template <typename T>
TIERUP_INLINE Vec<T> log_ends(Vec<T> x, Vec<T> inside) {
  const Vec<T> inf(INFINITY);
  const Vec<T> above = select((x == inf) | (x != x), x, inside);
  return select(x > Vec<T>(0), above, select(x == Vec<T>(0), -inf, select(x != x, x, Vec<T>(NAN))));
}

template <typename T>
TIERUP_INLINE Vec<T> log(Vec<T> x) {
  const Split<T> parts = split_exponent(x);
  return log_ends(x, log_of_reduced(parts.mantissa - Vec<T>(1), parts.exponent, Vec<T>(0)));
}

template <typename T>
TIERUP_INLINE Vec<T> log1p(Vec<T> x) {
  const Vec<T> one(1);
  const Vec<T> u = one + x;
  // What the rounding of 1 + x lost, relative to the sum.
  const Vec<T> lost = select(x > one, one - (u - x), x - (u - one)) / u;
  const Split<T> parts = split_exponent(u);
  const Mask<T> direct = parts.exponent == Vec<T>(0);
  const Vec<T> f = select(direct, x, parts.mantissa - one);
  const Vec<T> inside = log_of_reduced(f, parts.exponent, select(direct, Vec<T>(0), lost));
  return select(x == Vec<T>(0), x, log_ends(u, inside));
}

// log(1 + x) for x in [0, 1], as an exponential of what is not positive: halves of sums above
// sqrt(2) are exact, and nothing has to be parted or put right.
template <typename T>
TIERUP_INLINE Vec<T> log1p_of_part(Vec<T> x) {
  const Vec<T> one(1);
  const Mask<T> is_large = x > Vec<T>(0.41421356);
  const Vec<T> f = select(is_large, Vec<T>((x - one) * Vec<T>(0.5)), x);
  const Vec<T> inside = log_of_reduced(f, select(is_large, one, Vec<T>(0)), Vec<T>(0));
  return select(x == Vec<T>(0), x, inside);
}

// The logarithm to another base: exact at powers of 2 for log2.
TIERUP_INLINE Vec<double> log2(Vec<double> x) {
  const Split<double> parts = split_exponent(x);
  const Vec<double> rest = log_near_one(parts.mantissa - Vec<double>(1), Vec<double>(0));
  return log_ends(x, multiply_add(rest, Vec<double>(kLog2E), parts.exponent));
}
TIERUP_INLINE Vec<double> log10(Vec<double> x) {
  const Split<double> parts = split_exponent(x);
  const Vec<double> rest = log_near_one(parts.mantissa - Vec<double>(1), Vec<double>(0));
  const Vec<double> low = multiply_add(parts.exponent, Vec<double>(0x1.ef3fde623e256p-35),
                                       Vec<double>(rest * Vec<double>(0x1.bcb7b1526e50ep-2)));
  return log_ends(x, multiply_add(parts.exponent, Vec<double>(0x1.3441350900000p-2), low));
}
// The factors in two parts.
TIERUP_INLINE Vec<float> log2(Vec<float> x) {
  const Split<float> parts = split_exponent(x);
  const Vec<float> rest = log_near_one(parts.mantissa - Vec<float>(1), Vec<float>(0));
  const Vec<float> low = rest * Vec<float>(0x1.4ae0bf8p-26);
  return log_ends(x, parts.exponent + multiply_add(rest, Vec<float>(0x1.715476p+0), low));
}
TIERUP_INLINE Vec<float> log10(Vec<float> x) {
  const Split<float> parts = split_exponent(x);
  const Vec<float> rest = log_near_one(parts.mantissa - Vec<float>(1), Vec<float>(0));
  const Vec<float> small = multiply_add(parts.exponent, Vec<float>(4.6050389811980175e-06),
                                        Vec<float>(rest * Vec<float>(-1.0103050118726031e-08)));
  const Vec<float> low = multiply_add(rest, Vec<float>(0x1.bcb7b2p-2), small);
  return log_ends(x, multiply_add(parts.exponent, Vec<float>(0x1.344p-2), low));
}

// With e^-x = (1 + g) / p, p = 2^n: p / (1 + p + g). Beyond the limits this is 0 or 1. In the
// divisor, a p that would be lost beside 1 goes to g; else 1 + p is exact but for results next
// to 1.
template <typename T>
TIERUP_INLINE Vec<T> sigmoid(Vec<T> x) {
  const bool single = sizeof(T) == 4;
  const Vec<T> limited = limit(x, single ? -105.0 : -747.0, single ? 20.0 : 40.0);
  const Rounded<T> n = round_product(limited, kLog2E);
  const Vec<T> high = multiply_add(n.value, Vec<T>(Ln2<T>::kHigh), -limited);  // Exact.
  const Vec<T> growth = growth_of(multiply_add(n.value, Vec<T>(Ln2<T>::kLow), high));
  const Vec<T> one(1);
  const Vec<T> power = scale(one, n.value, n.integer);
  const Mask<T> tiny = power < Vec<T>(single ? 0x1p-23 : 0x1p-52);
  const Vec<T> divisor = (one + power) + select(tiny, growth + power, growth);
  return scale(Vec<T>(one / divisor), n.value, n.integer);
}

// (e^2a - 1) / (e^2a + 1) for a = -|x|: divisors lie between 1 and 2, near 2 for small x, where
// their rounding is felt least.
template <typename T>
TIERUP_INLINE Vec<T> tanh(Vec<T> x) {
  const Vec<T> one(1);
  const Vec<T> a = at_least(-abs(x), sizeof(T) == 4 ? -10 : -20);
  const Reduced<T> reduced = reduce_expm1(Vec<T>(a + a));
  const Vec<T> power = power_of_two<T>(reduced.integer);
  const Vec<T> above = multiply_add(power, reduced.growth, Vec<T>(power - one));
  return copysign(above / multiply_add(power, reduced.growth, Vec<T>(power + one)), x);
}

// a^b in double: exact enough for results rounded to float. All of C's special cases hold.
TIERUP_INLINE Vec<double> pow_wide(Vec<double> a, Vec<double> b) {
  const Vec<double> zero(0);
  const Vec<double> one(1);
  const Vec<double> inf(INFINITY);
  const Vec<double> magnitude = exp(b * log(abs(a)));
  const Mask<double> whole = trunc(b) == b;
  const Vec<double> halved = b * Vec<double>(0.5);
  const Mask<double> odd = whole & (trunc(halved) != halved);
  const Vec<double> sign_of_a = copysign(one, a);
  const Vec<double> with_sign = select(odd & (sign_of_a < zero), -magnitude, magnitude);
  const Mask<double> undefined = (a < zero) & (a != -inf) & !whole;
  const Vec<double> general = select(undefined, Vec<double>(NAN), with_sign);
  const Mask<double> is_one = (b == zero) | (a == one) | ((a == -one) & (abs(b) == inf));
  return select(is_one, one, select((a != a) | (b != b), a + b, general));
}
TIERUP_INLINE Vec<float> pow(Vec<float> a, Vec<float> b) {
  return through_double(a, b,
                        [](Vec<double> x, Vec<double> y) TIERUP_LAMBDA { return pow_wide(x, y); });
}

// In double, where squares of floats neither overflow nor vanish. Infinite beside a NaN, too.
TIERUP_INLINE Vec<float> hypot(Vec<float> a, Vec<float> b) {
  const Vec<float> inf(INFINITY);
  const Vec<float> length = through_double(
      a, b, [](Vec<double> x, Vec<double> y) TIERUP_LAMBDA { return sqrt(x * x + y * y); });
  return select((abs(a) == inf) | (abs(b) == inf), inf, length);
}
// Squares that would overflow or vanish are scaled first.
TIERUP_INLINE Vec<double> hypot(Vec<double> a, Vec<double> b) {
  using Wide = Vec<double>;
  const Wide inf(INFINITY);
  const Wide most = select(abs(a) < abs(b), abs(b), abs(a));
  const Mask<double> is_large = most > Wide(0x1p500);
  const Mask<double> is_small = most < Wide(0x1p-450);
  const Wide up = select(is_small, Wide(0x1p600), Wide(1));
  const Wide scale = select(is_large, Wide(0x1p-600), up);
  const Wide x = a * scale;
  const Wide y = b * scale;
  const Wide back = select(is_large, Wide(0x1p600), select(is_small, Wide(0x1p-600), Wide(1)));
  const Wide distance = sqrt(multiply_add(x, x, y * y)) * back;
  return select((abs(a) == inf) | (abs(b) == inf), inf, distance);
}

}  // namespace tierup::kernels::TIERUP_SIMD
