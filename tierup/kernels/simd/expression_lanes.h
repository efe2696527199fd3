// Vec<T> over expressions: the vocabulary of simd.h for a value that is written down, not computed.
//
// A file that defines TIERUP_EXPRESSION_LANES gets these lanes in place of a register's, in a
// namespace of their own; the functions and bodies over lanes are then the very same text, so that
// compiled groups give the bits of tier 0's kernels.
#pragma once

#include <cmath>
#include <cstdint>

#include "tierup/kernels/simd/expression.h"

#define TIERUP_SIMD simd_expression
#define TIERUP_INLINE inline __attribute__((always_inline))
#define TIERUP_LAMBDA

namespace tierup::kernels::TIERUP_SIMD {

template <typename T>
inline constexpr LaneType kLane = LaneType::kF32;
template <>
inline constexpr LaneType kLane<double> = LaneType::kF64;
template <>
inline constexpr LaneType kLane<int32_t> = LaneType::kI32;
template <>
inline constexpr LaneType kLane<int64_t> = LaneType::kI64;

template <typename T>
struct LaneTraits {
  using Int = T;
};
template <>
struct LaneTraits<float> {
  using Int = int32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr float kMagic = 12582912.0F;
};
template <>
struct LaneTraits<double> {
  using Int = int64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr double kMagic = 6755399441055744.0;
};

// Integer lanes of the width of T.
template <typename T>
struct IntLanes {
  ExprValue value;
  static constexpr LaneType kType = kLane<typename LaneTraits<T>::Int>;

  static IntLanes binary(Opcode opcode, const IntLanes& a, const IntLanes& b) {
    return {expr_binary(opcode, kType, a.value, b.value)};
  }
  static IntLanes number(int64_t n) { return {expr_integer(kType, n)}; }
#define TIERUP_INT_OPERATOR(symbol, opcode)                               \
  friend IntLanes operator symbol(const IntLanes& a, const IntLanes& b) { \
    return binary(Opcode::opcode, a, b);                                  \
  }                                                                       \
  friend IntLanes operator symbol(const IntLanes& a, int64_t n) {         \
    return binary(Opcode::opcode, a, number(n));                          \
  }
  TIERUP_INT_OPERATOR(+, kAdd)
  TIERUP_INT_OPERATOR(-, kSub)
  TIERUP_INT_OPERATOR(&, kAnd)
  TIERUP_INT_OPERATOR(|, kOr)
  TIERUP_INT_OPERATOR(^, kXor)
  TIERUP_INT_OPERATOR(<<, kShiftLeft)
  TIERUP_INT_OPERATOR(>>, kShiftRightArithmetic)
#undef TIERUP_INT_OPERATOR
  friend IntLanes operator~(const IntLanes& a) {
    return {expr_unary(Opcode::kNot, kType, a.value)};
  }
};

template <typename T>
struct Mask {
  ExprValue m;
  friend Mask operator|(const Mask& a, const Mask& b) {
    return {expr_binary(Opcode::kOr, LaneType::kMask, a.m, b.m)};
  }
  friend Mask operator&(const Mask& a, const Mask& b) {
    return {expr_binary(Opcode::kAnd, LaneType::kMask, a.m, b.m)};
  }
  friend Mask operator!(const Mask& a) { return {expr_unary(Opcode::kNot, LaneType::kMask, a.m)}; }
};

template <typename T>
struct Vec {
  using Traits = LaneTraits<T>;
  using Int = typename Traits::Int;
  using IntNative = IntLanes<T>;
  static constexpr LaneType kType = kLane<T>;
  ExprValue value;

  Vec() = default;
  explicit Vec(const ExprValue& v) : value(v) {}
  explicit Vec(double constant) : value(expr_constant(kType, constant)) {}
  IntNative bits() const { return {expr_unary(Opcode::kBitcast, IntNative::kType, value)}; }
  static Vec from_bits(const IntNative& bits) {
    return Vec(expr_unary(Opcode::kBitcast, kType, bits.value));
  }

#define TIERUP_LANE_OPERATOR(symbol, opcode)                          \
  friend Vec operator symbol(const Vec& a, const Vec& b) {            \
    return Vec(expr_binary(Opcode::opcode, kType, a.value, b.value)); \
  }
  TIERUP_LANE_OPERATOR(+, kAdd)
  TIERUP_LANE_OPERATOR(-, kSub)
  TIERUP_LANE_OPERATOR(*, kMul)
  TIERUP_LANE_OPERATOR(/, kDiv)
#undef TIERUP_LANE_OPERATOR
  friend Vec operator-(const Vec& a) { return Vec(expr_unary(Opcode::kNeg, kType, a.value)); }
#define TIERUP_LANE_COMPARISON(symbol, opcode)                               \
  friend Mask<T> operator symbol(const Vec& a, const Vec& b) {               \
    return {expr_binary(Opcode::opcode, LaneType::kMask, a.value, b.value)}; \
  }
  TIERUP_LANE_COMPARISON(<, kLess)
  TIERUP_LANE_COMPARISON(<=, kLessEqual)
  TIERUP_LANE_COMPARISON(>, kGreater)
  TIERUP_LANE_COMPARISON(>=, kGreaterEqual)
  TIERUP_LANE_COMPARISON(==, kEqual)
  TIERUP_LANE_COMPARISON(!=, kNotEqual)
#undef TIERUP_LANE_COMPARISON
};

template <typename T>
inline Vec<T> select(const Mask<T>& condition, const Vec<T>& yes, const Vec<T>& no) {
  return Vec<T>(expr_select(condition.m, yes.value, no.value));
}
template <typename T>
inline Vec<T> copysign(const Vec<T>& x, const Vec<T>& sign) {
  return Vec<T>(expr_binary(Opcode::kCopysign, Vec<T>::kType, x.value, sign.value));
}

// a * b + c, rounded once where the machine can.
template <typename T>
inline Vec<T> multiply_add(const Vec<T>& a, const Vec<T>& b, const Vec<T>& c) {
  return Vec<T>(expr_multiply_add(a.value, b.value, c.value));
}

// x times 2^n, rounded once; n as a number and as integer lanes.
inline constexpr bool kScalesAtOnce = true;
template <typename T>
inline Vec<T> scaled(const Vec<T>& x, const Vec<T>& n, const IntLanes<T>& integer) {
  return Vec<T>(expr_scale(x.value, n.value, integer.value));
}

#define TIERUP_LANE_FUNCTION(name, opcode)                             \
  template <typename T>                                                \
  inline Vec<T> name(const Vec<T>& x) {                                \
    return Vec<T>(expr_unary(Opcode::opcode, Vec<T>::kType, x.value)); \
  }
TIERUP_LANE_FUNCTION(abs, kAbs)
TIERUP_LANE_FUNCTION(sqrt, kSqrt)
TIERUP_LANE_FUNCTION(floor, kFloor)
TIERUP_LANE_FUNCTION(ceil, kCeil)
TIERUP_LANE_FUNCTION(trunc, kTrunc)
TIERUP_LANE_FUNCTION(round_even, kRoundEven)
#undef TIERUP_LANE_FUNCTION

inline Vec<double> widened(const Vec<float>& x) {
  return Vec<double>(expr_unary(Opcode::kConvert, LaneType::kF64, x.value));
}
inline Vec<float> narrowed(const Vec<double>& x) {
  return Vec<float>(expr_unary(Opcode::kConvert, LaneType::kF32, x.value));
}
template <typename F>
inline Vec<float> through_double(const Vec<float>& x, const F& f) {
  return narrowed(f(widened(x)));
}
template <typename F>
inline Vec<float> through_double(const Vec<float>& x, const Vec<float>& y, const F& f) {
  return narrowed(f(widened(x), widened(y)));
}

template <typename F>
inline Turned<Vec<float>> turned_through_double(const Vec<float>& x, const F& f) {
  const Turned<Vec<double>> wide = f(widened(x));
  return {narrowed(wide.rest), narrowed(wide.quarters)};
}

template <typename T>
inline Mask<T> odd_lanes(const typename Vec<T>::IntNative& n) {
  const IntLanes<T> zero = IntLanes<T>::number(0);
  return {expr_binary(Opcode::kNotEqual, LaneType::kMask, (n & 1).value, zero.value)};
}
template <typename T>
inline Vec<T> far_lanes(const Vec<T>& x, const Vec<T>& near, Angular function) {
  return Vec<T>(expr_far(x.value, near.value, function));
}

}  // namespace tierup::kernels::TIERUP_SIMD
