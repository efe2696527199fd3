// The logarithm of the gamma function, the inverse error function and neighbours over lanes.
//
// Lanes that take more than the common way are looked for first: a vector without them does not
// pay.
#pragma once

#include "tierup/kernels/simd/simd_trigonometric.h"

namespace tierup::kernels::TIERUP_SIMD {

// log(gamma(2 + d)) / d for |d| <= 1/2.
inline constexpr double kGamma[] = {
    0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa6p-2,  -0x1.13e001a55760ap-4,  0x1.51322ac7d848ap-6,
    -0x1.e404fc218dbaep-8,  0x1.7add6eadb5317p-9,  -0x1.38ac5c2d48207p-10, 0x1.0b36af8779ca0p-11,
    -0x1.d3fd4b679c1c4p-13, 0x1.a127afee53e7dp-14, -0x1.78de9ab752b81p-15, 0x1.580e0afa55850p-16,
    -0x1.3cb3be36ad88bp-17, 0x1.258f3057730fap-18, -0x1.1276ebd557fb0p-19, 0x1.012012be3900ap-20,
    -0x1.ce17528bcf460p-22, 0x1.b40adb09a1e12p-23, -0x1.2009c1a550d0dp-23, 0x1.11fa5e7c86f7bp-24};
// (log(gamma(x)) - (x - 1/2) (log x - 1) - log(2 pi) / 2 + 1/2) x in 1 / x^2, for x >= 8.5.
inline constexpr double kStirling[] = {
    0x1.5555555555555p-4,  -0x1.6c16c16c15b0dp-9,  0x1.a01a018cca121p-11, -0x1.3813603f945d7p-11,
    0x1.b936e99121149p-11, -0x1.f0efc6e572bfap-10, 0x1.54871d7b7ff93p-8};
// sin(pi r) / r in r^2 for |r| <= 1/2.
inline constexpr double kSinePi[] = {
    0x1.921fb54442d18p+1,  -0x1.4abbce625be52p+2,  0x1.466bc6775aa7dp+1,
    -0x1.32d2cce627c86p-1, 0x1.5078348551854p-4,   -0x1.e3074dfaf87afp-8,
    0x1.e8f3675ee37ddp-12, -0x1.6f7acdb8f6580p-16, 0x1.9d462020fcc78p-21};
// erfinv(x) / x in w - c, where w = -log(1 - x^2), and in sqrt(w) - c for larger w, and beyond 16:
// for float results, and for double ones.
inline constexpr double kErfinvFloat[] = {
    0x1.805c5cffaabf1p+0,  0x1.f91e899417ac0p-3,   -0x1.11c3e29af6b02p-8,  -0x1.4863ced547e02p-10,
    0x1.c9bba8f339f32p-13, -0x1.4f46a0da98c92p-18, -0x1.cbdd9c4cb7373p-19, 0x1.00fe9cd1418bbp-21,
    0x1.1b87cb49df7c4p-26, -0x1.75351001f6a5ap-27, 0x1.dd41c8690491bp-32,  0x1.0f810cd459d8fp-33};
inline constexpr double kErfinvFloatTail[] = {
    0x1.7aaa3c13bfa50p+1,   0x1.00f3b4ce46da9p+0,  0x1.cde4c48a9cc67p-8,  -0x1.5b5c0d8c2a2bcp-8,
    0x1.f13159ef4a28fp-9,   -0x1.4aec93561141ap-9, 0x1.4c7804b97dfb0p-10, -0x1.4b858678efb76p-12,
    -0x1.d0c23d3372f4dp-14, 0x1.05fa7cf7ad397p-13, -0x1.11c3cff3024d0p-15};
inline constexpr double kErfinvFloatEnd[] = {
    0x1.b79e0496e0580p+2,  0x1.0233527ad0990p+0,   -0x1.0cc43ef5ff819p-11, 0x1.a6a04f502ef75p-18,
    0x1.946d0f949ef8fp-18, -0x1.b452c468bb492p-20, 0x1.5ec1ee94433edp-22,  -0x1.c90175985ab5ap-25,
    0x1.af40750e97846p-28, -0x1.56e55a4b9cddep-30, 0x1.ad00827fcadd9p-32,  -0x1.9d1bb75be97a6p-35};
inline constexpr double kErfinvDouble[] = {
    0x1.a755e7c99ae86p+0,   0x1.ebd80d9b13df9p-3,   -0x1.8b6c33114eeaep-8,  -0x1.84576948353e1p-11,
    0x1.879c2a20da432p-13,  -0x1.d1d1f7ca4030fp-17, -0x1.6e8a53f106129p-20, 0x1.c6b4f890935ddp-22,
    -0x1.f36ce4ae847fdp-26, -0x1.1a9eb1bc8f0f0p-28, 0x1.20f4e6bf074cfp-30,  -0x1.dc3ee8b6c53ccp-35,
    -0x1.c89564c5d1004p-37, 0x1.723527b7cff86p-39,  -0x1.6d9ec5e3ec6afp-44, -0x1.686642b67610ap-45,
    0x1.db523eb040288p-48,  -0x1.73898c37dc54ap-55, -0x1.2c266176e7096p-53, 0x1.1f4ba5de5dc3fp-56,
    0x1.536d397f9b9b1p-60,  -0x1.9d290dd3bcb70p-62, -0x1.5087a244b0f6cp-70, 0x1.e9b8ae7230c25p-69};
inline constexpr double kErfinvDoubleTail[] = {
    0x1.8abcc380d5a48p+1,   0x1.0158a6d641d54p+0,   0x1.5ffcfe5b71831p-8,   -0x1.ebadabb9fd945p-9,
    0x1.468eeca71fc73p-9,   -0x1.ba9240d9b7431p-10, 0x1.f3cc552091e2bp-11,  -0x1.7448bc8217f18p-12,
    0x1.932d7684a6a52p-16,  0x1.1e6ab36be6c27p-14,  -0x1.8cf0bea0971c6p-15, 0x1.a242f876789c6p-17,
    0x1.88af4a1d56a98p-19,  -0x1.0b8068913d37bp-18, 0x1.924ec74d8058bp-20,  -0x1.cfedcff902170p-26,
    -0x1.235ac6aaf025ep-22, 0x1.1969ef2a93940p-23,  0x1.7f235c757454ep-31,  -0x1.03765b5ec5c93p-26};
inline constexpr double kErfinvDoubleEnd[] = {
    0x1.3664ddd1ad7fbp+2,   0x1.02a30d1fba102p+0,   -0x1.22ea5df0b8633p-13, -0x1.c2f36a9e0586cp-13,
    0x1.3ebf4ec393360p-14,  -0x1.4a3491ab46bf5p-16, 0x1.2fbd2016ebc3fp-18,  -0x1.0a8fb02781dbcp-20,
    0x1.ebcd80a76ec79p-23,  -0x1.22508b9368329p-24, 0x1.f47082f6075cep-26,  -0x1.04d5a531f11c7p-26,
    0x1.066ded86a1733p-27,  -0x1.e7e8f890cbda1p-29, 0x1.9aad9a28a68bcp-30,  -0x1.af61be82f75d1p-32,
    -0x1.a093293d0beccp-36, 0x1.1b15393908ce6p-35};
// Modified Bessel functions in x^2 for |x| <= 8, that of order 1 over x; and times sqrt(x) exp(-x)
// in 1 / x for larger x.
inline constexpr double kBesselI0[] = {
    0x1.0000000000000p+0,   0x1.0000000000000p-2,  0x1.0000000000000p-6,   0x1.c71c71c71c71dp-12,
    0x1.c71c71c71c705p-18,  0x1.23456789abe20p-24, 0x1.02e85c08974c5p-31,  0x1.522a43f678544p-39,
    0x1.522a43f3c5cffp-47,  0x1.0b3132ac6604fp-55, 0x1.5601859c1e784p-64,  0x1.69cac787efc6fp-73,
    0x1.4195b658aa38cp-82,  0x1.e7477a048e22cp-92, 0x1.3d45e4ad1d75dp-101, 0x1.71eed78904823p-111,
    0x1.38c9bb9def199p-121, 0x1.f2ba28a423f36p-131};
inline constexpr double kBesselI1[] = {
    0x1.0000000000000p-1,   0x1.0000000000000p-4,  0x1.5555555555555p-9,   0x1.c71c71c71c71dp-15,
    0x1.6c16c16c16c12p-21,  0x1.845c8a0ce51aep-28, 0x1.27e4fb7789600p-35,  0x1.522a43f663502p-43,
    0x1.2c9758d9e75d3p-51,  0x1.ab81ea929f530p-60, 0x1.f176958771dcap-69,  0x1.e2639f21e548ep-78,
    0x1.8bccbd18b3186p-87,  0x1.166c99e45cc07p-96, 0x1.52a178808478cp-106, 0x1.70913f872a3cbp-116,
    0x1.2bdd01e7485efp-126, 0x1.b1484aa39d158p-136};
inline constexpr double kBesselI0Far[] = {
    0x1.9884533d43650p-2,   0x1.9884533d4e639p-5,  0x1.cb94dd374752ep-6,   0x1.debbe995a23b7p-6,
    0x1.6e1725a69696cp-5,   0x1.967e136454c5cp-4,  -0x1.6535ee2a65c85p-1,  0x1.194a7cf9e0edfp+6,
    -0x1.dc9375f787225p+11, 0x1.3172685b000acp+17, -0x1.2a16ec6761860p+22, 0x1.c0a5c743bdd0dp+26,
    -0x1.061246c31b243p+31, 0x1.dc4ada3848acbp+34, -0x1.4fcd75840c6d0p+38, 0x1.6ca6c0904eb2cp+41,
    -0x1.2cdf82414aaf5p+44, 0x1.711f3b11d4f09p+46, -0x1.4512a4a4ea1fap+48, 0x1.83466b1d78bb7p+49,
    -0x1.168e66071a028p+50, 0x1.6bf4a6f803673p+49};
inline constexpr double kBesselI1Far[] = {
    0x1.9884533d43651p-2,  -0x1.32633e6df5568p-3,  -0x1.7efc0dd1c2bb9p-5, -0x1.4f1cf9f11a4ffp-5,
    -0x1.d6ce6d1d98bbcp-5, -0x1.e9744fdc9c3b4p-4,  0x1.561f0ff525745p-1,  -0x1.1d06543a791f9p+6,
    0x1.e18b2b54e19e9p+11, -0x1.34264493e1356p+17, 0x1.2c220fde608ebp+22, -0x1.c2a963bfe4483p+26,
    0x1.0682044755062p+31, -0x1.db7a685325d34p+34, 0x1.4dde830f5752dp+38, -0x1.68c642deb4ecap+41,
    0x1.27e68d031328fp+44, -0x1.6860804f894fap+46, 0x1.3a8597a9eb568p+48, -0x1.728268ac62dc4p+49,
    0x1.06b5d4c685a0ep+50, -0x1.50e831c2e64cap+49};

// exp(x^2) erfc(x) (1 + 2x) in (x - 4) / (x + 4), for all x >= 0.
inline constexpr double kErfcxWhole[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28ep-3,  0x1.f7f5df66fd6bap-7,   0x1.16ecefcfa5383p-4,
    -0x1.9ddb23c3e89f3p-4,  0x1.7fee004e1295bp-4,   -0x1.0fb06dfe52605p-4,  0x1.3079edf67777bp-5,
    -0x1.096238838fb04p-6,  0x1.49c6728a1a0f0p-8,   -0x1.8d4a9b0690e08p-11, -0x1.a1df289a58f28p-13,
    0x1.3be04c486a75ep-13,  -0x1.9958e21c32f5cp-16, -0x1.78862b6b1e3abp-17, 0x1.7f2545048fbf3p-18,
    0x1.398374178fe8cp-22,  -0x1.baf5e74545cc2p-21, 0x1.4cb0ece36623dp-24,  0x1.d98825ca9deb5p-24,
    -0x1.611fc8f45b510p-26, -0x1.fcc3a5268653fp-27, 0x1.b34e17ed4ff9fp-29,  0x1.f5d7df6dfda90p-30,
    -0x1.24000f0a15ee9p-32, -0x1.3ab58f87cfb03p-33};

#define TIERUP_FLOAT_THROUGH_DOUBLE(name)                                         \
  TIERUP_INLINE Vec<float> name(Vec<float> x) {                                   \
    return through_double(x, [](Wide wide) TIERUP_LAMBDA { return name(wide); }); \
  }

// log|gamma(a)| for a >= -4.5. Below 8.5 by the recurrence from 2 + d, where d is what a lies
// beside a whole number: what a is away from 1, 2 or a pole is exact. Above by Stirling's series.
TIERUP_INLINE Wide log_gamma_above(Wide a) {
  const Wide one(1);
  const Wide whole = round_even(a);
  const Wide d = a - whole;
  // gamma(2 + d) is gamma(a) times the factors d + whole up to d + 1, and gamma(a) is it times the
  // factors d + 2 up to d + whole - 1.
  Wide factors = one;
  Wide number(-4);
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    factors = select(whole <= number, factors * (d + number), factors);
    number = number + one;
  }
  Wide further = one;
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    further = select(whole > number, further * (d + number), further);
    number = number + one;
  }
  const Mask<double> is_far = a >= Wide(8.5);
  const Wide logarithm = log(select(is_far, a, abs(factors * further)));
  const Wide rest = d * polynomial(d, kGamma);
  const Wide near = rest + select(whole < Wide(2), -logarithm, logarithm);
  if (!any(is_far)) return near;
  const Wide inverse = one / a;
  const Wide series = polynomial(inverse * inverse, kStirling);
  const Wide lead = multiply_add(a - Wide(0.5), logarithm - one, Wide(0x1.acfe390c97d69p-2));
  return select(is_far, multiply_add(series, inverse, lead), near);
}

// log|gamma(x)|, infinite at the poles. Far left by gamma(x) gamma(-x) = -pi / (x sin(pi x)).
TIERUP_INLINE Wide lgamma(Wide x) {
  const Mask<double> is_left = x < Wide(-4.5);
  const Wide value = log_gamma_above(select(is_left, -x, x));
  if (!any(is_left)) return value;
  const Wide whole = round_even(x);
  const Wide r = x - whole;
  const Wide sine = r * polynomial(r * r, kSinePi);
  const Wide mirrored = log(Wide(M_PI) / abs(x * sine)) - value;
  return select(is_left, select(x == whole, Wide(INFINITY), mirrored), value);
}
TIERUP_FLOAT_THROUGH_DOUBLE(lgamma)

// erfinv(x) / x from w = -log(1 - x^2), which is not negative, in the form of M. Giles,
// "Approximating the erfinv function" (GPU Computing Gems, Jade Edition). With the precision of a
// T.
template <typename T>
TIERUP_INLINE Wide erfinv_ratio(Wide w) {
  constexpr bool kSingle = sizeof(T) == 4;
  const Wide near = kSingle ? polynomial(w - Wide(2.5), kErfinvFloat)
                            : polynomial(w - Wide(3.125), kErfinvDouble);
  const Mask<double> is_far = w > Wide(kSingle ? 5 : 6.25);
  if (!any(is_far)) return near;
  const Wide root = sqrt(w);
  const Wide tail = kSingle ? polynomial(root - Wide(3.125), kErfinvFloatTail)
                            : polynomial(root - Wide(3.25), kErfinvDoubleTail);
  const Wide end = kSingle ? polynomial(root - Wide(7), kErfinvFloatEnd)
                           : polynomial(root - Wide(5), kErfinvDoubleEnd);
  return select(is_far, select(root > Wide(4), end, tail), near);
}
// Infinite at 1, NaN beyond.
TIERUP_INLINE Wide erfinv(Wide x) {
  const Wide one(1);
  const Wide value = x * erfinv_ratio<double>(-log((one - x) * (one + x)));
  return select(abs(x) == one, copysign(Wide(INFINITY), x), value);
}
// What the logarithm's last digits say, a float's ratio hardly shows.
TIERUP_INLINE Vec<float> erfinv(Vec<float> x) {
  const Vec<float> one(1);
  const Vec<float> w = -log((one - x) * (one + x));
  const Vec<float> value = through_double(x, w, [](Wide a, Wide logarithm) TIERUP_LAMBDA {
    return a * erfinv_ratio<float>(logarithm);
  });
  return select(abs(x) == one, copysign(Vec<float>(INFINITY), x), value);
}

// exp(sign * a^2) of a >= 0: what the square has of digits beyond a double's, the exponential
// shows.
TIERUP_INLINE Wide exp_of_square(Wide a, double sign) {
  const Wide limited = at_most(a, 40);  // Zero or infinite from there on.
  const Wide high = Wide::from_bits(limited.bits() & (Wide::IntNative{} - (int64_t{1} << 27)));
  const Wide low = Wide(sign) * ((limited - high) * (limited + high));
  const Wide half = multiply_add(low, Wide(1.0 / 6), Wide(0.5));
  const Wide growth = multiply_add(low * low, half, low);
  return exp(Wide(sign) * (high * high)) * (Wide(1) + growth);
}
// erfcx and erfc of a >= 0.
TIERUP_INLINE Wide erfcx_above(Wide a) {
  const Wide limited = at_most(a, 1e18);
  const Wide u = (limited - Wide(4)) / (limited + Wide(4));
  return polynomial(u, kErfcxWhole) / (Wide(1) + a + a);
}
TIERUP_INLINE Wide erfc_above(Wide a) { return exp_of_square(a, -1) * erfcx_above(a); }

TIERUP_INLINE Wide erfcx(Wide x) {
  const Wide value = erfcx_above(abs(x));
  const Mask<double> is_below = x < Wide(0);
  if (!any(is_below)) return value;
  return select(is_below, Wide(2) * exp_of_square(abs(x), 1) - value, value);
}
TIERUP_FLOAT_THROUGH_DOUBLE(erfcx)

TIERUP_INLINE Wide erfc(Wide x) {
  const Wide tail = erfc_above(abs(x));
  const Wide near = Wide(1) - multiply_add(x, polynomial(x * x, kErfDouble), x);
  const Wide far = select(x < Wide(0), Wide(2) - tail, tail);
  return select(abs(x) < Wide(0.5), near, far);
}

// The normal distribution's, by erfc, its logarithm, and the inverse of it: erfinv at 2p - 1.
TIERUP_INLINE Vec<float> ndtr(Vec<float> x) {
  return through_double(x, [](Wide wide) TIERUP_LAMBDA {
    return Wide(0.5) * erfc_for_float(wide * Wide(-M_SQRT1_2));
  });
}
TIERUP_INLINE Wide ndtr(Wide x) { return Wide(0.5) * erfc(x * Wide(-M_SQRT1_2)); }
TIERUP_INLINE Wide log_ndtr(Wide x) {
  const Wide half(0.5);
  const Wide t = x * Wide(M_SQRT1_2);
  const Wide scaled = half * erfcx_above(abs(t));
  const Wide below = log(scaled) - t * t;
  const Wide beyond = exp_of_square(abs(t), -1) * scaled;  // The smaller of both sides.
  const Wide upper = select(x < Wide(0), Wide(1) - beyond, beyond);
  return select(x < Wide(-1), below, log1p(-upper));
}
TIERUP_FLOAT_THROUGH_DOUBLE(log_ndtr)
TIERUP_INLINE Vec<float> ndtri(Vec<float> x) {
  return through_double(x, [](Wide p) TIERUP_LAMBDA {
    const Wide one(1);
    const Wide a = p + p - one;
    const Wide ratio = erfinv_ratio<float>(-log(Wide(4) * p * (one - p)));
    const Mask<double> is_end = (p == Wide(0)) | (p == one);
    return select(is_end, copysign(Wide(INFINITY), a), Wide(M_SQRT2) * a * ratio);
  });
}

// -x log x; 0 at 0.
template <typename T>
TIERUP_INLINE Vec<T> entr(Vec<T> x) {
  const Vec<T> zero(0);
  const Vec<T> other = select(x == zero, zero, select(x != x, x, Vec<T>(-INFINITY)));
  return select(x > zero, -x * log(x), other);
}

// The modified Bessel function of |x|, or it times exp(-|x|).
template <int kOrder, bool kScaled>
TIERUP_INLINE Wide bessel_i(Wide x) {
  const Wide a = abs(x);
  const Wide square = a * a;
  const Wide series =
      kOrder == 0 ? polynomial(square, kBesselI0) : a * polynomial(square, kBesselI1);
  const Wide near = kScaled ? series * exp(-a) : series;
  const Mask<double> is_far = a > Wide(8);
  if (!any(is_far)) return near;
  const Wide inverse = Wide(1) / a;
  const Wide ratio =
      (kOrder == 0 ? polynomial(inverse, kBesselI0Far) : polynomial(inverse, kBesselI1Far)) *
      sqrt(inverse);
  if constexpr (kScaled) return select(is_far, ratio, near);
  // The exponential overflows before the product does.
  const Wide half = exp(a * Wide(0.5));
  const Wide far = select(a > Wide(720), Wide(INFINITY), (half * ratio) * half);
  return select(is_far, far, near);
}
TIERUP_INLINE Wide i0(Wide x) { return bessel_i<0, false>(x); }
TIERUP_INLINE Wide i0e(Wide x) { return bessel_i<0, true>(x); }
TIERUP_INLINE Wide i1(Wide x) { return copysign(bessel_i<1, false>(x), x); }
TIERUP_INLINE Wide i1e(Wide x) { return copysign(bessel_i<1, true>(x), x); }
TIERUP_FLOAT_THROUGH_DOUBLE(i0)
TIERUP_FLOAT_THROUGH_DOUBLE(i0e)
TIERUP_FLOAT_THROUGH_DOUBLE(i1)
TIERUP_FLOAT_THROUGH_DOUBLE(i1e)

// The number beside a towards b: its bits, as a whole number, are the next ones.
template <typename T>
TIERUP_INLINE Vec<T> nextafter(Vec<T> a, Vec<T> b) {
  const Vec<T> zero(0);
  const auto inward = (a < b).m ^ (a > zero).m;  // All ones, which is -1, where true.
  const Vec<T> stepped = Vec<T>::from_bits(a.bits() + 1 + (inward << 1));
  const Vec<T> least = copysign(Vec<T>::from_bits(zero.bits() + 1), b);
  const Vec<T> other = select(a == zero, least, stepped);
  return select(a == b, b, select((a != a) | (b != b), a + b, other));
}

#undef TIERUP_FLOAT_THROUGH_DOUBLE

}  // namespace tierup::kernels::TIERUP_SIMD
