// Complex numbers of floats by vectors: pairs are parted into vectors of real and imaginary
// numbers.
//
// Numbers that want more care (infinities, what over- or underflows) go one by one through the
// plain loops of runs_complex.cc.
#pragma once

#include <utility>

#include "tierup/kernels/pointwise/vector_run.h"
#include "tierup/kernels/simd/simd_trigonometric.h"

namespace tierup::kernels::TIERUP_SIMD {

using Floats = Vec<float>;
constexpr int kNumbers = Floats::kLanes;
constexpr int64_t kPairBytes = 2 * sizeof(float);

struct Pairs {
  Floats re, im;
};

// Element i of a pair of vectors that are parted into even and odd places, or woven.
template <bool kOdd>
constexpr int parted_place(int i) {
  return 2 * i + (kOdd ? 1 : 0);
}
template <bool kHigh>
constexpr int woven_place(int i) {
  return i / 2 + (kHigh ? kNumbers / 2 : 0) + i % 2 * kNumbers;
}
template <bool kOdd, int... kI>
TIERUP_INLINE Floats part(Floats a, Floats b, std::integer_sequence<int, kI...> /*lanes*/) {
  return __builtin_shufflevector(a.v, b.v, parted_place<kOdd>(kI)...);
}
template <bool kHigh, int... kI>
TIERUP_INLINE Floats weave(Floats a, Floats b, std::integer_sequence<int, kI...> /*lanes*/) {
  return __builtin_shufflevector(a.v, b.v, woven_place<kHigh>(kI)...);
}
using AllLanes = std::make_integer_sequence<int, kNumbers>;

TIERUP_INLINE Pairs load_pairs(const char* from) {
  const auto* floats = reinterpret_cast<const float*>(from);
  const Floats a = Floats::load(floats);
  const Floats b = Floats::load(floats + kNumbers);
  return {part<false>(a, b, AllLanes{}), part<true>(a, b, AllLanes{})};
}
TIERUP_INLINE void store_numbers(Pairs value, char* to) {
  auto* floats = reinterpret_cast<float*>(to);
  weave<false>(value.re, value.im, AllLanes{}).store(floats);
  weave<true>(value.re, value.im, AllLanes{}).store(floats + kNumbers);
}
TIERUP_INLINE void store_numbers(Floats value, char* to) {
  value.store(reinterpret_cast<float*>(to));
}

// Of results that hold for all numbers of `plain`.
template <typename Value>
struct Checked {
  Value value;
  Mask<float> plain;
};

TIERUP_INLINE Mask<float> everywhere() { return {Mask<float>::Native{} == 0}; }

TIERUP_INLINE Checked<Floats> length_of(Pairs z) {
  const Floats most = bodies::max_nan(abs(z.re), abs(z.im));
  const Floats zero(0.0);
  return {sqrt(z.re * z.re + z.im * z.im),
          ((most > Floats(1e-18)) & (most < Floats(1e18))) | (most == zero)};
}

struct ComplexLength {
  TIERUP_INLINE static Checked<Floats> apply(Pairs z) { return length_of(z); }
};
struct ComplexDirection {
  TIERUP_INLINE static Checked<Pairs> apply(Pairs z) {
    const auto [length, plain] = length_of(z);
    const Floats zero(0.0);
    const Mask<float> is_zero = length == zero;
    return {{select(is_zero, zero, z.re / length), select(is_zero, zero, z.im / length)}, plain};
  }
};
struct ComplexProduct {
  TIERUP_INLINE static Checked<Pairs> apply(Pairs a, Pairs b) {
    return {{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}, everywhere()};
  }
};
struct ComplexAngle {
  TIERUP_INLINE static Checked<Floats> apply(Pairs z) { return {atan2(z.im, z.re), everywhere()}; }
};
// In double, as the plain one.
struct ComplexQuotient {
  typedef double Doubles __attribute__((vector_size(2 * TIERUP_VECTOR_BYTES)));

  TIERUP_INLINE static Checked<Pairs> apply(Pairs x, Pairs y) {
    const Doubles a = __builtin_convertvector(x.re.v, Doubles);
    const Doubles b = __builtin_convertvector(x.im.v, Doubles);
    const Doubles c = __builtin_convertvector(y.re.v, Doubles);
    const Doubles d = __builtin_convertvector(y.im.v, Doubles);
    const Doubles part = 1 / (c * c + d * d);
    const Doubles real = (a * c + b * d) * part;
    const Doubles imag = (b * c - a * d) * part;
    // Zero if and only if both are finite.
    const Floats check = __builtin_convertvector(real * 0 + imag * 0, Floats::Native);
    return {{__builtin_convertvector(real, Floats::Native),
             __builtin_convertvector(imag, Floats::Native)},
            check == Floats(0.0)};
  }
};

// One vector of numbers. `plain`: the loop for those that Op does not answer for, whatever stands
// beside them.
template <typename Op, int64_t kOutBytes, size_t... kI>
TIERUP_INLINE void complex_vector(char* out, const char* const* from, BlockRun plain,
                                  std::index_sequence<kI...> /*inputs*/) {
  const auto [value, is_plain] = Op::apply(load_pairs(from[kI])...);
  if (!any(!is_plain)) return store_numbers(value, out);
  char made[kNumbers * kOutBytes];
  store_numbers(value, made);
  for (int lane = 0; lane < kNumbers; ++lane) {
    if (is_plain.m[lane] != 0) continue;
    const char* one[] = {from[kI] + lane * kPairBytes...};
    plain(made + lane * kOutBytes, one, 1);
  }
  __builtin_memcpy(out, made, sizeof(made));
}

template <typename Op, int64_t kOutBytes, size_t... kI>
TIERUP_INLINE void complex_loop(char* out, const char* const* in, int64_t count, BlockRun plain,
                                std::index_sequence<kI...> inputs) {
  int64_t i = 0;
  for (; i + kNumbers <= count; i += kNumbers) {
    const char* from[] = {in[kI] + i * kPairBytes...};
    complex_vector<Op, kOutBytes>(out + i * kOutBytes, from, plain, inputs);
  }
  if (i == count) return;
  // The last numbers with ones behind them.
  float padded[sizeof...(kI)][2 * kNumbers];
  for (auto& numbers : padded) {
    for (float& number : numbers) number = 1;
  }
  const auto rest = static_cast<size_t>(count - i);
  (__builtin_memcpy(padded[kI], in[kI] + i * kPairBytes, rest * kPairBytes), ...);
  const char* from[] = {reinterpret_cast<const char*>(padded[kI])...};
  char made[kNumbers * kOutBytes];
  complex_vector<Op, kOutBytes>(made, from, plain, inputs);
  __builtin_memcpy(out + i * kOutBytes, made, rest * kOutBytes);
}

inline void length_run(char* out, const char* const* in, int64_t count) {
  complex_loop<ComplexLength, sizeof(float)>(out, in, count, plain_complex_runs().abs,
                                             std::make_index_sequence<1>{});
}
inline void direction_run(char* out, const char* const* in, int64_t count) {
  complex_loop<ComplexDirection, kPairBytes>(out, in, count, plain_complex_runs().sgn,
                                             std::make_index_sequence<1>{});
}
inline void angle_run(char* out, const char* const* in, int64_t count) {
  // It answers for all numbers: there is no plain loop to call.
  complex_loop<ComplexAngle, sizeof(float)>(out, in, count, nullptr, std::make_index_sequence<1>{});
}
inline void product_run(char* out, const char* const* in, int64_t count) {
  complex_loop<ComplexProduct, kPairBytes>(out, in, count, plain_complex_runs().mul,
                                           std::make_index_sequence<2>{});
}
inline void quotient_run(char* out, const char* const* in, int64_t count) {
  complex_loop<ComplexQuotient, kPairBytes>(out, in, count, plain_complex_runs().div,
                                            std::make_index_sequence<2>{});
}

inline void add_complex_vector_runs(RunTable& table) {
  constexpr auto kType = ScalarType::kComplexFloat;
  table.set(Body::kAbs, kType, ScalarType::kFloat, 1, &length_run);
  table.set(Body::kAngle, kType, ScalarType::kFloat, 1, &angle_run);
  table.set(Body::kSgn, kType, kType, 1, &direction_run);
  table.set(Body::kMul, kType, kType, 2, &product_run);
  table.set(Body::kDiv, kType, kType, 2, &quotient_run);
}

}  // namespace tierup::kernels::TIERUP_SIMD
