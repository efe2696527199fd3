// Quotients and remainders of integers by vectors of doubles.
//
// Of numbers below 2^51 the quotient of doubles is on the right side of every integer: it differs
// from one by more than half of its last digit, or is one. What is left is exact, since the product
// and the difference are rounded once. Vectors with other lanes, among them divisors of zero, go
// number by number.
#pragma once

#include "tierup/kernels/pointwise/whole_quotients.h"
#include "tierup/kernels/simd/simd.h"

namespace tierup::kernels::TIERUP_SIMD {

#if TIERUP_VECTOR_BYTES > 16
enum class QuotientPart : uint8_t { kQuotient, kRest };
enum class QuotientRounding : uint8_t { kTrunc, kFloor };

using WideLongs = Vec<double>::IntNative;

inline constexpr int64_t kQuotientLimit = int64_t{1} << 51;

// Of lanes below kQuotientLimit, and back.
TIERUP_INLINE Vec<double> doubles_of(WideLongs n) {
  const Vec<double> magic(LaneTraits<double>::kMagic);
  return Vec<double>::from_bits(n + magic.bits()) - magic;
}
TIERUP_INLINE WideLongs longs_of(Vec<double> x) {
  const Vec<double> magic(LaneTraits<double>::kMagic);
  return (x + magic).bits() - magic.bits();
}
TIERUP_INLINE bool are_dividable(WideLongs a, WideLongs b) {
  const WideLongs limit = WideLongs{} + kQuotientLimit;
  const WideLongs fits = (a < limit) & (a > -limit) & (b < limit) & (b > -limit) & (b != 0);
  return !any(Mask<double>{~fits});
}

// As many numbers as a vector of doubles holds.
template <typename T>
TIERUP_INLINE WideLongs load_longs(const T* from) {
  typedef T Numbers __attribute__((vector_size(Vec<double>::kLanes * sizeof(T))));
  Numbers numbers;
  __builtin_memcpy(&numbers, from, sizeof(numbers));
  return __builtin_convertvector(numbers, WideLongs);
}
template <typename T>
TIERUP_INLINE void store_longs(WideLongs n, T* to) {
  typedef T Numbers __attribute__((vector_size(Vec<double>::kLanes * sizeof(T))));
  const Numbers numbers = __builtin_convertvector(n, Numbers);
  __builtin_memcpy(to, &numbers, sizeof(numbers));
}

template <QuotientPart kPart, QuotientRounding kRounding>
TIERUP_INLINE WideLongs divide(WideLongs a, WideLongs b) {
  const Vec<double> x = doubles_of(a);
  const Vec<double> y = doubles_of(b);
  const Vec<double> quotient = x / y;
  const Vec<double> whole =
      kRounding == QuotientRounding::kFloor ? floor(quotient) : trunc(quotient);
  return longs_of(kPart == QuotientPart::kQuotient ? whole : multiply_add(-whole, y, x));
}

template <typename T, QuotientPart kPart, QuotientRounding kRounding>
void quotient_run(char* out, const char* const* in, int64_t count) {
  constexpr int64_t kLanes = Vec<double>::kLanes;
  const T* a = reinterpret_cast<const T*>(in[0]);
  const T* b = reinterpret_cast<const T*>(in[1]);
  T* to = reinterpret_cast<T*>(out);
  const auto one_by_one = [&](int64_t begin, int64_t length) {
    const char* const rest[] = {reinterpret_cast<const char*>(a + begin),
                                reinterpret_cast<const char*>(b + begin)};
    const QuotientRuns& plain = plain_quotient_runs(kDTypeOf<T>);
    const bool is_floor = kRounding == QuotientRounding::kFloor;
    const BlockRun run = kPart == QuotientPart::kQuotient
                             ? (is_floor ? plain.div_floor : plain.div_trunc)
                             : (is_floor ? plain.remainder : plain.fmod);
    run(reinterpret_cast<char*>(to + begin), rest, length);
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const WideLongs x = load_longs(a + i);
    const WideLongs y = load_longs(b + i);
    if (are_dividable(x, y))
      store_longs(divide<kPart, kRounding>(x, y), to + i);
    else
      one_by_one(i, kLanes);
  }
  if (i < count) one_by_one(i, count - i);
}

template <typename T>
inline void add_quotient_runs_of(RunTable& table) {
  using enum QuotientPart;
  using enum QuotientRounding;
  const auto set = [&](Body body, BlockRun run) {
    table.set(body, kDTypeOf<T>, kDTypeOf<T>, 2, run);
  };
  set(Body::kDivFloor, &quotient_run<T, kQuotient, kFloor>);
  set(Body::kDivTrunc, &quotient_run<T, kQuotient, kTrunc>);
  set(Body::kRemainder, &quotient_run<T, kRest, kFloor>);
  set(Body::kFmod, &quotient_run<T, kRest, kTrunc>);
}

inline void add_quotient_runs(RunTable& table) {
  add_quotient_runs_of<int32_t>(table);
  add_quotient_runs_of<int64_t>(table);
}
#else
// The base level's are those of runs_integer.cc.
inline void add_quotient_runs(RunTable& /*table*/) {}
#endif

}  // namespace tierup::kernels::TIERUP_SIMD
