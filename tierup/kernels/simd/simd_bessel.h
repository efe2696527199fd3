// Bessel functions of orders 0 and 1, and the Airy function over lanes.
//
// Near polynomials are minimax-like interpolations at Chebyshev's points, of a shifted variable, so
// that their terms do not cancel. Far ones are of what is left beside the leading term of the
// asymptotic expansions in Abramowitz and Stegun, Handbook of Mathematical Functions, 9.2, 9.7 and
// 10.4.
#pragma once

#include "tierup/kernels/simd/simd_special.h"

namespace tierup::kernels::TIERUP_SIMD {

// In x^2 / 32 - 1 for |x| <= 8: J0, J1 over x, and what is left of Y0 and of Y1 over x beside their
// logarithms and poles.
inline constexpr double kBesselJ0[] = {
    0x1.776fc5f84e280p-5,  0x1.dc5071f1209f4p-1,   -0x1.4c042a76a3d9ap-1, -0x1.9dbdd0f268edfp-1,
    0x1.09d33c82734c7p+0,  -0x1.03d2da095b4d3p-1,  0x1.2afc33916d951p-3,  -0x1.d27f3cd0c3c57p-6,
    0x1.09f3448afe692p-8,  -0x1.d11773b2a6a3ap-12, 0x1.42bc90334c844p-15, -0x1.6cc526fb69af1p-19,
    0x1.56a7a3208d73fp-23, -0x1.0ff7eb0c00e75p-27, 0x1.71d0b6c23df9bp-32, -0x1.b5729c33c7261p-37,
    0x1.c2b3e18859255p-42};
inline constexpr double kBesselJ1[] = {
    -0x1.dc5071f1209f4p-5, 0x1.4c042a76a3d9ap-4,   0x1.364e5cb5ceb28p-3,  -0x1.09d33c82734c7p-2,
    0x1.44c7908bb21fap-3,  -0x1.c07a4d5a245f9p-5,  0x1.982f5536aba62p-7,  -0x1.09f3448afe710p-9,
    0x1.059d31145aa0ap-12, -0x1.936bb44012d62p-16, 0x1.f58f15d1dd73fp-20, -0x1.00fdba62dd55dp-23,
    0x1.b9f2b1b189a63p-28, -0x1.43968f39d3c0fp-32, 0x1.9a36aed03c986p-37, -0x1.c2c89ea282aaap-42};
inline constexpr double kBesselY0[] = {
    -0x1.876cb72f1c7ebp-2,  -0x1.a828bfbfdc936p-1, 0x1.a5a81d661f788p+0,   0x1.272bb3b608b4ep-3,
    -0x1.13da2b14a486ep+0,  0x1.58279811359ffp-1,  -0x1.c06cc647f6aa1p-3,  0x1.7bd6bf2cea1e1p-5,
    -0x1.cc7060123653ap-8,  0x1.a6a8c6c8b12e2p-11, -0x1.31537c5ca2375p-14, 0x1.651b8fa0e7285p-18,
    -0x1.5995ab70980a0p-22, 0x1.1997d4a7c8bcfp-26, -0x1.88006a91193cfp-31, 0x1.d9b424d8e8b94p-36,
    -0x1.f18fc0e5099b2p-41};
inline constexpr double kBesselY1[] = {
    0x1.21d516f81acf6p-4,   -0x1.f26fddceafd0ep-3, 0x1.7edab31507ce5p-6,   0x1.e16d7a1d07b70p-3,
    -0x1.923952d7c4256p-3,  0x1.41bb6917b15d6p-4,  -0x1.4198f92a33313p-6,  0x1.c097bb98fe01bp-9,
    -0x1.d1604f9b92099p-12, 0x1.76c164b810f2fp-15, -0x1.e3516b2bf00d2p-19, 0x1.ff34fd0887975p-23,
    -0x1.c3f04ecca3d1cp-27, 0x1.532ebc8e4e6f7p-31, -0x1.b7b8e36d2d92ap-36, 0x1.ed0a7abfaa792p-41};
// Hankel's P, and Q times x, in 1 / x^2 for x >= 8.
inline constexpr double kHankelP0[] = {
    0x1.0000000000000p+0,  -0x1.1ffffffff85e4p-4,  0x1.cb5fffa33ef62p-4,  -0x1.251eafdb745bcp-1,
    0x1.84ab2bdf28058p+2,  -0x1.b65442e133a3ep+6,  0x1.6d7848fb54237p+11, -0x1.7d68fe7da3bd6p+16,
    0x1.9354193c5e446p+21, -0x1.5e2a2ba4d9907p+26, 0x1.9574ab829b27cp+30, -0x1.c069f735e546bp+33};
inline constexpr double kHankelQ0[] = {
    -0x1.fffffffffffffp-4,  0x1.2bfffffffc9b3p-4,  -0x1.d11dffe3e7222p-3,  0x1.ba4c423935460p+0,
    -0x1.8611859d3ed27p+4,  0x1.13523bc3ee995p+9,  -0x1.19413d1635b35p+14, 0x1.755c78938b787p+19,
    -0x1.160c156cc7583p+25, 0x1.8afcde2776612p+30, -0x1.d08aee68d2762p+35, 0x1.8fa90e5dbde03p+40,
    -0x1.b1cf35ddcbde5p+44, 0x1.b76054a4a9600p+47};
inline constexpr double kHankelP1[] = {
    0x1.0000000000000p+0,   0x1.dffffffff7e80p-4,  -0x1.274fffced21f8p-3,  0x1.5a6a1c796bbb2p-1,
    -0x1.b87f0af3a6ea7p+2,  0x1.e48c6af145aebp+6,  -0x1.8da65f72efb0fp+11, 0x1.9afe8b006409cp+16,
    -0x1.b04182e5ea7b0p+21, 0x1.762c462d6f6aep+26, -0x1.b08a31231c0aep+30, 0x1.dde5dde7cb9e7p+33};
inline constexpr double kHankelQ1[] = {
    0x1.8000000000000p-2,  -0x1.a3fffffffc6d6p-4,  0x1.1c3cfff1360bep-2,  -0x1.fe57ffffe6400p+0,
    0x1.b3f5ccdf4c332p+4,  -0x1.2d8ea782b57b1p+9,  0x1.2fde7762873adp+14, -0x1.8fb48277a50afp+19,
    0x1.27fb6b1f9c351p+25, -0x1.a315ddb6ce860p+30, 0x1.ebf4530296e64p+35, -0x1.a6c4c8f19dcbep+40,
    0x1.ca91b879ca453p+44, -0x1.d03cbf5a70a98p+47};
// In x^2 / 2 - 1 for x <= 2: what is left of K0 and of K1 over x beside logarithm and pole. Times
// sqrt(x) exp(x) in (x - 2) / (x + 2) for larger x.
inline constexpr double kBesselK0[] = {
    0x1.9055e0acc3f54p-1,  0x1.8fff17f98db1cp-1,  0x1.f6ee0decfbda8p-4,  0x1.fda3752a9236cp-8,
    0x1.16c5f67976de6p-12, 0x1.7dc25d01b93ecp-18, 0x1.660d44c00a6a1p-24, 0x1.e8d5beb9fc724p-31,
    0x1.fb888bfe62095p-38, 0x1.9e4630c203c50p-45, 0x1.10ce55490a66cp-52};
inline constexpr double kBesselK1[] = {
    -0x1.fe2890c6da2a2p-2,  -0x1.af79f608a8f1cp-3,  -0x1.5f023344d577ap-6,  -0x1.075f7adebb203p-10,
    -0x1.c9b0e44a4abb5p-16, -0x1.03f05a6034c3dp-21, -0x1.a0920d02edb4fp-28, -0x1.f06e9508e08fap-35,
    -0x1.c94c11f84672ep-42, -0x1.4f70efe8bff32p-49, -0x1.91247837b4f82p-57};
inline constexpr double kBesselK0Far[] = {
    0x1.30ae2423de262p+0,   0x1.ac450893fa263p-4,  -0x1.2817f63af5326p-4,  0x1.c4e771b2b567cp-5,
    -0x1.6c141a73d743dp-5,  0x1.2ed08a7dcd87dp-5,  -0x1.020a5d7e78c73p-5,  0x1.bfee1b6f1e6cdp-6,
    -0x1.8a34fc124181dp-6,  0x1.5df6ac89efce0p-6,  -0x1.366c221d98aa2p-6,  0x1.0df0fdf37eeb1p-6,
    -0x1.bdeefcbdd3af7p-7,  0x1.4f497231e3997p-7,  -0x1.b5248e2cb7eb4p-8,  0x1.d512369b57f60p-9,
    -0x1.86bcfe96960a1p-10, 0x1.d4454f1926ffcp-12, -0x1.644b9e74a460cp-14, 0x1.012c68d3669d3p-17};
inline constexpr double kBesselK1Far[] = {
    0x1.7628990a85c64p+0, -0x1.80fb15bf9c977p-2, 0x1.400c2980cf109p-2,  -0x1.189b970d4b57dp-2,
    0x1.f9a772713b523p-3, -0x1.cfd4d5a9f5a88p-3, 0x1.aed8dc8afb3d0p-3,  -0x1.93ebb4e0d6f7ap-3,
    0x1.7d17dba687172p-3, -0x1.683a7d1be9c8bp-3, 0x1.51c3e6666a46bp-3,  -0x1.33e3b4d3a69b7p-3,
    0x1.081c502b9be93p-3, -0x1.98bad82e14895p-4, 0x1.10197153a4af8p-4,  -0x1.2866f5aefb269p-5,
    0x1.f32a81fabdd5cp-7, -0x1.2d742a8f711b4p-8, 0x1.cd627a5fa3b18p-11, -0x1.4e773f482ee99p-14};
// Ai in (x + 1) / 3 for -4 <= x <= 2. Above, relative to its leading term, in 1 / zeta with
// zeta = 2/3 |x|^(3/2); below, P and Q times zeta in 1 / zeta^2.
inline constexpr double kAiry[] = {
    0x1.1235093d83da5p-1,   -0x1.f369859b29a27p-6,  -0x1.347baa6534556p+1,  0x1.3a55e6f605e2cp+1,
    0x1.bd2ac9e559c5cp+0,   -0x1.16f39a2edf8e3p+2,  0x1.b040fcc2e1023p+0,   0x1.06a3de67258d6p+1,
    -0x1.2fb9446afce81p+1,  0x1.81bd9cac53847p-2,   0x1.b4a85985965acp-1,   -0x1.39fb53d5ce7f4p-1,
    0x1.35b75c40debd0p-6,   0x1.76c239b65e5fep-3,   -0x1.78776038da663p-4,  -0x1.62aa957588f9cp-8,
    0x1.89bfcd9a24b52p-6,   -0x1.2518d21e4cd9cp-7,  -0x1.365785e65f821p-10, 0x1.179216877e356p-9,
    -0x1.3eeb1be0fcb52p-11, -0x1.fff210e1c4462p-14, 0x1.2028b7aec85e4p-13,  -0x1.fa01b6baaf510p-16,
    -0x1.2b6ba39220825p-17, 0x1.bcddadcc532a0p-18,  -0x1.9740cf197a684p-21, -0x1.f1180fbed8494p-22,
    0x1.1ae3891141efcp-23};
inline constexpr double kAiryRight[] = {
    0x1.ffffffffffffep-1,  -0x1.1c71c71c6a914p-4,  0x1.3032915224526p-5,  -0x1.373d314dcb0acp-5,
    0x1.d84173a2ed640p-5,  -0x1.db6b2f5a19ea8p-4,  0x1.29cb856cb338cp-2,  -0x1.b9ec3ebc313aep-1,
    0x1.6fa76b5f900f0p+1,  -0x1.4018804b4e0f5p+3,  0x1.0f04ac149f1c0p+5,  -0x1.a2fff8d8943c8p+6,
    0x1.1a0e9432ea76ep+8,  -0x1.3f7f27acea39ep+9,  0x1.284289f4ca45bp+10, -0x1.b64142fab2a43p+10,
    0x1.f5f27056b88f9p+10, -0x1.ab7efec8c525ep+10, 0x1.fc70357e99d79p+9,  -0x1.7821452050da3p+8,
    0x1.043f620286859p+6};
inline constexpr double kAiryLeftP[] = {
    0x1.0000000000000p+0,  -0x1.30329161e745ap-5,  0x1.d8431cbc69c95p-5,  -0x1.2a96983236627p-2,
    0x1.8a14760d14470p+1,  -0x1.bb14740e27386p+5,  0x1.717af71509804p+10, -0x1.89c6694e34dd7p+15,
    0x1.c594fa2e97282p+20, -0x1.e8ed7b77bf9f2p+25, 0x1.be0e3056ee938p+30, -0x1.41359bb9a5b7cp+35,
    0x1.57da1f547028bp+39, -0x1.fd15e47bd9a24p+42, 0x1.ce781b87f77d6p+45, -0x1.83177ce965e8bp+47};
inline constexpr double kAiryLeftQ[] = {
    0x1.1c71c71c71c6fp-4,  -0x1.373d384da4e39p-5,  0x1.db8ab0b2c79f7p-4,  -0x1.c15d421a8e96fp-1,
    0x1.8ae100b831f62p+3,  -0x1.15c5e1230e555p+8,  0x1.194df7ec64d64p+13, -0x1.6da1229c7c0bfp+18,
    0x1.0962db714cfb5p+24, -0x1.7957a042faa61p+29, 0x1.dd802b2f0c897p+34, -0x1.f9227ff98d789p+39,
    0x1.ab953db0a568dp+44, -0x1.16bece20c2259p+49, 0x1.0bd56f1e9a96fp+53, -0x1.63b0b436e68aep+56,
    0x1.22bda6b6c01bcp+59, -0x1.b80dc8fba6fe6p+60};

inline constexpr double kTwoOverRootPi = 0x1.20dd750429b6dp+0;

struct SineCosine {
  Wide sine;
  Wide cosine;
};
TIERUP_INLINE SineCosine sine_and_cosine(Wide x) {
  const Quarter q = reduce_quarter(x);
  const Mask<double> odd = odd_lanes<double>(q.n);
  const Wide sine = flip_sign(select(odd, q.cosine, q.sine), q.n);
  const Wide cosine = flip_sign(select(odd, q.sine, q.cosine), q.n + 1);
  return {far_lanes(x, sine, Angular::kSine), far_lanes(x, cosine, Angular::kCosine)};
}

// J or Y for a >= 8, from the sine and cosine of a turned by the order's quarters of pi.
template <int kOrder, bool kSecond>
TIERUP_INLINE Wide bessel_far(Wide a) {
  const SineCosine turn = sine_and_cosine(a);
  const Wide plus = turn.sine + turn.cosine;
  const Wide minus = turn.sine - turn.cosine;
  const Wide inverse = Wide(1) / a;
  const Wide w = inverse * inverse;
  const Wide p = kOrder == 0 ? polynomial(w, kHankelP0) : polynomial(w, kHankelP1);
  const Wide q = inverse * (kOrder == 0 ? polynomial(w, kHankelQ0) : polynomial(w, kHankelQ1));
  Wide value;
  if constexpr (kOrder == 0)
    value = kSecond ? p * minus + q * plus : p * plus - q * minus;
  else
    value = kSecond ? q * minus - p * plus : p * minus + q * plus;
  return select(inverse == Wide(0), Wide(0), value * sqrt(inverse) * Wide(0.5 * kTwoOverRootPi));
}

// J of |x| <= 8.
template <int kOrder>
TIERUP_INLINE Wide bessel_j_near(Wide a) {
  const Wide t = multiply_add(a * Wide(1.0 / 32), a, Wide(-1));
  return kOrder == 0 ? polynomial(t, kBesselJ0) : a * polynomial(t, kBesselJ1);
}
template <int kOrder>
TIERUP_INLINE Wide bessel_j(Wide x) {
  const Wide a = abs(x);
  const Mask<double> is_far = a > Wide(8);
  Wide value = bessel_j_near<kOrder>(a);
  if (any(is_far)) value = select(is_far, bessel_far<kOrder, false>(a), value);
  return kOrder == 0 ? value : Wide::from_bits(value.bits() ^ (x.bits() & sign_bits<double>()));
}
TIERUP_INLINE Wide bessel_j0(Wide x) { return bessel_j<0>(x); }
TIERUP_INLINE Wide bessel_j1(Wide x) { return bessel_j<1>(x); }

// Y, infinite at 0, NaN below.
template <int kOrder>
TIERUP_INLINE Wide bessel_y(Wide x) {
  const Wide t = multiply_add(x * Wide(1.0 / 32), x, Wide(-1));
  const Wide first = log(x) * bessel_j_near<kOrder>(x);
  const Wide scale(M_2_PI);
  Wide value;
  if constexpr (kOrder == 0)
    value = multiply_add(scale, first, polynomial(t, kBesselY0));
  else
    value = multiply_add(scale, first - Wide(1) / x, x * polynomial(t, kBesselY1));
  const Mask<double> is_far = x > Wide(8);
  if (any(is_far)) value = select(is_far, bessel_far<kOrder, true>(x), value);
  return select(x == Wide(0), Wide(-INFINITY), value);
}
TIERUP_INLINE Wide bessel_y0(Wide x) { return bessel_y<0>(x); }
TIERUP_INLINE Wide bessel_y1(Wide x) { return bessel_y<1>(x); }

// K, or it times exp(x); infinite at 0, NaN below.
template <int kOrder, bool kScaled>
TIERUP_INLINE Wide bessel_k(Wide x) {
  const Wide square = x * x;
  const Wide t = multiply_add(square, Wide(0.5), Wide(-1));
  const Wide logarithm = log(x);
  Wide near;
  if constexpr (kOrder == 0)
    near = polynomial(t, kBesselK0) - logarithm * polynomial(square, kBesselI0);
  else
    near = multiply_add(
        x, multiply_add(logarithm, polynomial(square, kBesselI1), polynomial(t, kBesselK1)),
        Wide(1) / x);
  if constexpr (kScaled) near = near * exp(x);
  const Wide u = (x - Wide(2)) / (x + Wide(2));
  const Wide ratio = kOrder == 0 ? polynomial(u, kBesselK0Far) : polynomial(u, kBesselK1Far);
  const Wide far = (kScaled ? ratio : ratio * exp(-x)) / sqrt(x);
  const Wide value = select(x > Wide(2), select(x == Wide(INFINITY), Wide(0), far), near);
  return select(x == Wide(0), Wide(INFINITY), value);
}
TIERUP_INLINE Wide bessel_k0(Wide x) { return bessel_k<0, false>(x); }
TIERUP_INLINE Wide bessel_k1(Wide x) { return bessel_k<1, false>(x); }
TIERUP_INLINE Wide scaled_bessel_k0(Wide x) { return bessel_k<0, true>(x); }
TIERUP_INLINE Wide scaled_bessel_k1(Wide x) { return bessel_k<1, true>(x); }

TIERUP_INLINE Wide spherical_bessel_j0(Wide x) {
  const Wide value = select(abs(x) == Wide(INFINITY), Wide(0), sin(x) / x);
  return select(x == Wide(0), Wide(1), value);
}

// Of what lies so far left that its angle has no digits, NaN.
TIERUP_INLINE Wide airy_ai(Wide x) {
  const Wide a = abs(x);
  const Wide near = polynomial((x + Wide(1)) * Wide(1.0 / 3), kAiry);
  const Mask<double> is_left = x < Wide(-4);
  const Mask<double> is_right = x > Wide(2);
  if (!any(is_left | is_right)) return near;
  const Wide root = sqrt(a);
  const Wide zeta = a * root * Wide(2.0 / 3);
  const Wide inverse = Wide(1) / zeta;
  const Wide decay = polynomial(inverse, kAiryRight) * exp(-zeta);
  const Wide right = decay * Wide(0.25 * kTwoOverRootPi) / sqrt(root);
  const Wide value = select(is_right, right, near);
  if (!any(is_left)) return value;
  const SineCosine turn = sine_and_cosine(select(is_left, zeta, Wide(1)));
  const Wide w = inverse * inverse;
  const Wide q = inverse * polynomial(w, kAiryLeftQ);
  const Wide wave =
      polynomial(w, kAiryLeftP) * (turn.sine + turn.cosine) - q * (turn.cosine - turn.sine);
  const Wide left = wave * Wide(0.5 * kTwoOverRootPi * M_SQRT1_2) / sqrt(root);
  return select(is_left, select(x < Wide(-1e10), Wide(NAN), left), value);
}

#define TIERUP_FLOAT_THROUGH_DOUBLE(name)                                         \
  TIERUP_INLINE Vec<float> name(Vec<float> x) {                                   \
    return through_double(x, [](Wide wide) TIERUP_LAMBDA { return name(wide); }); \
  }
TIERUP_FLOAT_THROUGH_DOUBLE(bessel_j0)
TIERUP_FLOAT_THROUGH_DOUBLE(bessel_j1)
TIERUP_FLOAT_THROUGH_DOUBLE(bessel_y0)
TIERUP_FLOAT_THROUGH_DOUBLE(bessel_y1)
TIERUP_FLOAT_THROUGH_DOUBLE(bessel_k0)
TIERUP_FLOAT_THROUGH_DOUBLE(bessel_k1)
TIERUP_FLOAT_THROUGH_DOUBLE(scaled_bessel_k0)
TIERUP_FLOAT_THROUGH_DOUBLE(scaled_bessel_k1)
TIERUP_FLOAT_THROUGH_DOUBLE(spherical_bessel_j0)
TIERUP_FLOAT_THROUGH_DOUBLE(airy_ai)
#undef TIERUP_FLOAT_THROUGH_DOUBLE

}  // namespace tierup::kernels::TIERUP_SIMD
