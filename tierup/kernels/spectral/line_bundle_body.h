// The passes of line_bundle.h for one instruction set.
#pragma once

#include "tierup/kernels/simd/simd.h"
#include "tierup/kernels/spectral/line_bundle.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

template <typename T>
constexpr int64_t kNumber = 2 * Vec<T>::kLanes;  // Of T in one number of all lanes.

template <typename T>
struct Complex {
  using Real = Vec<T>;
  Real re;
  Real im;

  static TIERUP_INLINE Complex load(const T* from) {
    return {Real::load(from), Real::load(from + Real::kLanes)};
  }
  TIERUP_INLINE void store(T* to) const {
    re.store(to);
    im.store(to + Real::kLanes);
  }
  friend TIERUP_INLINE Complex operator+(Complex a, Complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  friend TIERUP_INLINE Complex operator-(Complex a, Complex b) {
    return {a.re - b.re, a.im - b.im};
  }
  TIERUP_INLINE Complex conjugate() const { return {re, -im}; }
  TIERUP_INLINE Complex times(Real factor) const { return {re * factor, im * factor}; }
  TIERUP_INLINE Complex turned(RootOfUnity<T> by) const {
    const Real a(by.re);
    const Real b(by.im);
    return {multiply_add(-im, b, re * a), multiply_add(im, a, re * b)};
  }
  // Plus `factor` times another.
  TIERUP_INLINE Complex plus(double factor, Complex other) const {
    return {multiply_add(other.re, Real(factor), re), multiply_add(other.im, Real(factor), im)};
  }
  // Times -i, or i.
  template <bool kInverse>
  TIERUP_INLINE Complex quarter() const {
    return kInverse ? Complex{-im, re} : Complex{im, -re};
  }
};

// The transforms of so few numbers, in place.
template <bool kInverse, typename T>
TIERUP_INLINE void combine(Complex<T> (&a)[2]) {
  const Complex<T> sum = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = sum;
}
template <bool kInverse, typename T>
TIERUP_INLINE void combine(Complex<T> (&a)[3]) {
  constexpr double kSine = 0.86602540378443864676;
  const Complex<T> sum = a[1] + a[2];
  const Complex<T> middle = a[0].plus(-0.5, sum);
  const Complex<T> side = (a[1] - a[2]).times(Vec<T>(kSine)).template quarter<kInverse>();
  a[0] = a[0] + sum;
  a[1] = middle + side;
  a[2] = middle - side;
}
template <bool kInverse, typename T>
TIERUP_INLINE void combine(Complex<T> (&a)[4]) {
  const Complex<T> even = a[0] + a[2];
  const Complex<T> odd = a[1] + a[3];
  const Complex<T> middle = a[0] - a[2];
  const Complex<T> side = (a[1] - a[3]).template quarter<kInverse>();
  a[0] = even + odd;
  a[1] = middle + side;
  a[2] = even - odd;
  a[3] = middle - side;
}
template <bool kInverse, typename T>
TIERUP_INLINE void combine(Complex<T> (&a)[5]) {
  constexpr double kCosine[] = {0.30901699437494742410, -0.80901699437494742410};
  constexpr double kSine[] = {0.95105651629515357212, 0.58778525229247312917};
  const Complex<T> near = a[1] + a[4];
  const Complex<T> far = a[2] + a[3];
  const Complex<T> near_side = a[1] - a[4];
  const Complex<T> far_side = a[2] - a[3];
  const Complex<T> first = a[0].plus(kCosine[0], near).plus(kCosine[1], far);
  const Complex<T> second = a[0].plus(kCosine[1], near).plus(kCosine[0], far);
  const Complex<T> first_side =
      near_side.times(Vec<T>(kSine[0])).plus(kSine[1], far_side).template quarter<kInverse>();
  const Complex<T> second_side =
      near_side.times(Vec<T>(kSine[1])).plus(-kSine[0], far_side).template quarter<kInverse>();
  a[0] = a[0] + near + far;
  a[1] = first + first_side;
  a[2] = second + second_side;
  a[3] = second - second_side;
  a[4] = first - first_side;
}

// Times a root of eight: the first power, or the third.
template <bool kInverse, bool kThird, typename T>
TIERUP_INLINE Complex<T> eighth(Complex<T> x) {
  const Vec<T> root(0.70710678118654752440);
  const Complex<T> quarter = x.template quarter<kInverse>();
  return (kThird ? quarter - x : quarter + x).times(root);
}
template <bool kInverse, typename T>
TIERUP_INLINE void combine(Complex<T> (&a)[8]) {
  Complex<T> even[4] = {a[0], a[2], a[4], a[6]};
  Complex<T> odd[4] = {a[1], a[3], a[5], a[7]};
  combine<kInverse>(even);
  combine<kInverse>(odd);
  odd[1] = eighth<kInverse, false>(odd[1]);
  odd[2] = odd[2].template quarter<kInverse>();
  odd[3] = eighth<kInverse, true>(odd[3]);
  for (int k = 0; k < 4; ++k) {
    a[k] = even[k] + odd[k];
    a[k + 4] = even[k] - odd[k];
  }
}

// `stride` neighbours are taken alike. Numbers `far` apart go in, neighbouring ones come out.
template <int kRadix, bool kInverse, typename T>
void known_pass(const BundlePass<T>& pass, int64_t stride, const T* from, T* to) {
  const int64_t far = stride * pass.groups * kNumber<T>;
  const int64_t near = stride * kNumber<T>;
  for (int64_t group = 0; group < pass.groups; ++group) {
    const RootOfUnity<T>* twiddles =
        group == 0 ? nullptr : pass.twiddles + (group - 1) * (kRadix - 1);
    for (int64_t i = 0; i < stride; ++i, from += kNumber<T>, to += kNumber<T>) {
      Complex<T> a[kRadix];
      for (int k = 0; k < kRadix; ++k) a[k] = Complex<T>::load(from + k * far);
      combine<kInverse>(a);
      a[0].store(to);
      for (int k = 1; k < kRadix; ++k) {
        (group == 0 ? a[k] : a[k].turned(twiddles[k - 1])).store(to + k * near);
      }
    }
    to += (kRadix - 1) * near;
  }
}

// Odd primes, by the definition: numbers that are as far from either end share their factors but
// for the sign of the imaginary part, and so do results.
template <typename T>
void any_pass(const BundlePass<T>& pass, int64_t stride, const T* from, T* to) {
  const int64_t radix = pass.radix;
  const int64_t half = radix / 2;
  const int64_t far = stride * pass.groups * kNumber<T>;
  const int64_t near = stride * kNumber<T>;
  for (int64_t group = 0; group < pass.groups; ++group) {
    const RootOfUnity<T>* twiddles =
        group == 0 ? nullptr : pass.twiddles + (group - 1) * (radix - 1);
    const auto put = [&](int64_t k, Complex<T> number, T* at) {
      (group == 0 ? number : number.turned(twiddles[k - 1])).store(at + k * near);
    };
    for (int64_t i = 0; i < stride; ++i, from += kNumber<T>, to += kNumber<T>) {
      Complex<T> even[kPlainPrime / 2 + 1];
      Complex<T> odd[kPlainPrime / 2 + 1];
      const Complex<T> first = Complex<T>::load(from);
      Complex<T> sum = first;
      for (int64_t j = 1; j <= half; ++j) {
        const Complex<T> a = Complex<T>::load(from + j * far);
        const Complex<T> b = Complex<T>::load(from + (radix - j) * far);
        even[j] = a + b;
        odd[j] = a - b;
        sum = sum + even[j];
      }
      sum.store(to);
      for (int64_t k = 1; k <= half; ++k) {
        Complex<T> middle = first;
        Complex<T> side = odd[1].times(Vec<T>(pass.roots[k].im));
        middle = middle.plus(pass.roots[k].re, even[1]);
        for (int64_t j = 2, power = 2 * k % radix; j <= half; ++j, power = (power + k) % radix) {
          middle = middle.plus(pass.roots[power].re, even[j]);
          side = side.plus(pass.roots[power].im, odd[j]);
        }
        side = side.template quarter<true>();
        put(k, middle + side, to);
        put(radix - k, middle - side, to);
      }
    }
    to += (radix - 1) * near;
  }
}

template <bool kInverse, typename T>
void run_pass(const BundlePass<T>& pass, int64_t stride, const T* from, T* to) {
  switch (pass.radix) {
    case 2: return known_pass<2, kInverse>(pass, stride, from, to);
    case 3: return known_pass<3, kInverse>(pass, stride, from, to);
    case 4: return known_pass<4, kInverse>(pass, stride, from, to);
    case 5: return known_pass<5, kInverse>(pass, stride, from, to);
    case 8: return known_pass<8, kInverse>(pass, stride, from, to);
    default: return any_pass(pass, stride, from, to);
  }
}

template <typename T>
void run(const BundlePass<T>& pass, bool inverse, int64_t stride, const T* from, T* to) {
  inverse ? run_pass<true>(pass, stride, from, to) : run_pass<false>(pass, stride, from, to);
}

template <typename T>
void to_half_spectrum(const RootOfUnity<T>* turns, int64_t n, const T* pairs, T* spectrum) {
  for (int64_t k = 0; k <= n; ++k) {
    const Complex<T> there = Complex<T>::load(pairs + k % n * kNumber<T>);
    const Complex<T> back = Complex<T>::load(pairs + (n - k) % n * kNumber<T>).conjugate();
    const Complex<T> even = (there + back).times(Vec<T>(0.5));
    const Complex<T> odd = (there - back).times(Vec<T>(0.5)).template quarter<false>();
    (even + odd.turned(turns[k])).store(spectrum + k * kNumber<T>);
  }
}

template <typename T>
void from_half_spectrum(const RootOfUnity<T>* turns, int64_t n, const T* spectrum, T* pairs) {
  for (int64_t k = 0; k < n; ++k) {
    const Complex<T> there = Complex<T>::load(spectrum + k * kNumber<T>);
    const Complex<T> back = Complex<T>::load(spectrum + (n - k) * kNumber<T>).conjugate();
    const Complex<T> odd = (there - back).turned(turns[k]);
    (there + back + odd.template quarter<true>()).store(pairs + k * kNumber<T>);
  }
}

// Whole registers: numbers stand by all lanes.
template <typename T>
void scale(T factor, int64_t count, T* numbers) {
  const Vec<T> by(factor);
  for (int64_t i = 0; i < count; i += Vec<T>::kLanes)
    (Vec<T>::load(numbers + i) * by).store(numbers + i);
}

template <Conjugated kConjugated, typename T>
void multiply_as(const RootOfUnity<T>* factors, int64_t n, T* numbers) {
  for (int64_t k = 0; k < n; ++k, numbers += kNumber<T>) {
    Complex<T> number = Complex<T>::load(numbers);
    if (kConjugated == Conjugated::kOperands) number = number.conjugate();
    number = number.turned(factors[k]);
    if (kConjugated == Conjugated::kProducts) number = number.conjugate();
    number.store(numbers);
  }
}

template <typename T>
void multiply(const RootOfUnity<T>* factors, int64_t n, Conjugated conjugated, T* numbers) {
  switch (conjugated) {
    case Conjugated::kNone: return multiply_as<Conjugated::kNone>(factors, n, numbers);
    case Conjugated::kOperands: return multiply_as<Conjugated::kOperands>(factors, n, numbers);
    case Conjugated::kProducts: return multiply_as<Conjugated::kProducts>(factors, n, numbers);
  }
}

template <typename T>
constexpr BundleKernels<T> kKernels{Vec<T>::kLanes,        run<T>,   to_half_spectrum<T>,
                                    from_half_spectrum<T>, scale<T>, multiply<T>};

constexpr BundleVariants kBundles{kKernels<float>, kKernels<double>};

}  // namespace
}  // namespace tierup::kernels::TIERUP_SIMD
