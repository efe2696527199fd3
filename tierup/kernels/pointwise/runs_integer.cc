// Runs over integers and bool: arithmetic wraps around, division by zero is an error.
#include <limits>
#include <numeric>
#include <utility>

#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/scalar_run.h"
#include "tierup/kernels/pointwise/whole_quotients.h"

namespace tierup::kernels {
namespace bodies {
namespace {

template <typename T>
void check_divisor(T divisor) {
  require(divisor != 0, ErrorCode::kInvalidArgument, "ZeroDivisionError");
}
// The quotient of the lowest number by -1 does not exist; it wraps around.
template <typename T>
T quotient(T a, T b) {
  check_divisor(b);
  return std::is_signed_v<T> && b == T(-1) ? static_cast<T>(0 - static_cast<uint64_t>(a))
                                           : static_cast<T>(a / b);
}
template <typename T>
T rest(T a, T b) {
  check_divisor(b);
  return std::is_signed_v<T> && b == T(-1) ? T(0) : static_cast<T>(a % b);
}

#define TIERUP_INTEGER_BODY(name, expression) \
  struct Integer##name {                      \
    static constexpr size_t kArity = 2;       \
    template <typename T>                     \
    static T apply(T a, T b) {                \
      return static_cast<T>(expression);      \
    }                                         \
  }
TIERUP_INTEGER_BODY(DivTrunc, quotient(a, b));
TIERUP_INTEGER_BODY(Fmod, rest(a, b));
TIERUP_INTEGER_BODY(BitAnd, a& b);
TIERUP_INTEGER_BODY(BitOr, a | b);
TIERUP_INTEGER_BODY(BitXor, a ^ b);
TIERUP_INTEGER_BODY(ShiftLeft, b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8
                                   ? 0
                                   : static_cast<uint64_t>(a) << static_cast<uint64_t>(b));
TIERUP_INTEGER_BODY(ShiftRight,
                    b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8 ? (a < 0 ? -1 : 0) : a >> b);
TIERUP_INTEGER_BODY(Max, a > b ? a : b);
TIERUP_INTEGER_BODY(Min, a < b ? a : b);

struct IntegerDivFloor {
  static constexpr size_t kArity = 2;
  template <typename T>
  static T apply(T a, T b) {
    const T whole = quotient(a, b);
    const T left = rest(a, b);
    return static_cast<T>(left != 0 && ((left < 0) != (b < 0)) ? whole - 1 : whole);
  }
};
struct IntegerRemainder {
  static constexpr size_t kArity = 2;
  template <typename T>
  static T apply(T a, T b) {
    const T left = rest(a, b);
    return static_cast<T>(left != 0 && ((left < 0) != (b < 0)) ? left + b : left);
  }
};
// By squaring, modulo 2^width; a negative exponent gives the integer part of the true power.
struct IntegerPow {
  static constexpr size_t kArity = 2;
  template <typename T>
  static T apply(T a, T b) {
    if (b < 0) {
      if (a == T(1)) return 1;
      return a == T(-1) ? (b % 2 == 0 ? T(1) : T(-1)) : T(0);
    }
    uint64_t result = 1;
    uint64_t power = static_cast<uint64_t>(a);
    for (uint64_t left = static_cast<uint64_t>(b); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= power;
      power *= power;
    }
    return static_cast<T>(result);
  }
};
template <typename T>
uint64_t magnitude(T a) {
  return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
}
// Euclid's, as PyTorch has it: the least number of a type has no magnitude and stays negative.
template <typename T>
T divisor_with_least(T a, T b) {
  a = static_cast<T>(magnitude(a));
  b = static_cast<T>(magnitude(b));
  while (a != 0) b = std::exchange(a, rest(b, a));
  return b;
}
struct IntegerGcd {
  static constexpr size_t kArity = 2;
  template <typename T>
  static T apply(T a, T b) {
    constexpr T kLeast = std::numeric_limits<T>::min();
    if (kLeast < 0 && (a == kLeast || b == kLeast)) return divisor_with_least(a, b);
    return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
  }
};
struct IntegerLcm {
  static constexpr size_t kArity = 2;
  template <typename T>
  static T apply(T a, T b) {
    const uint64_t divisor = std::gcd(magnitude(a), magnitude(b));
    return divisor == 0 ? T(0) : static_cast<T>(magnitude(a) / divisor * magnitude(b));
  }
};
struct BitNot {
  static constexpr size_t kArity = 1;
  template <typename T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct IntegerSign {
  static constexpr size_t kArity = 1;
  template <typename T>
  static T apply(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
};
struct Identity {
  static constexpr size_t kArity = 1;
  template <typename T>
  static T apply(T a) {
    return a;
  }
};
template <bool kValue>
struct Always {
  static constexpr size_t kArity = 1;
  template <typename T>
  static bool apply(T) {
    return kValue;
  }
};
struct IntegerSignbit {
  static constexpr size_t kArity = 1;
  template <typename T>
  static bool apply(T a) {
    return std::is_signed_v<T> && a < T(0);
  }
};
// nan_to_num of an integer: itself.
struct FirstOfFour {
  static constexpr size_t kArity = 4;
  template <typename T>
  static T apply(T a, T, T, T) {
    return a;
  }
};
// On the bytes of bools, 0 or 1: the compiler makes no vectors of bools.
struct LogicalNot {
  static constexpr size_t kArity = 1;
  static uint8_t apply(uint8_t a) { return a ^ 1U; }
};
// alpha of an addition of bools is a bool.
struct BoolAddScaled {
  static constexpr size_t kArity = 3;
  static bool apply(bool a, bool b, bool alpha) { return a | (b & alpha); }
};
struct BoolClamp {
  static constexpr size_t kArity = 3;
  static bool apply(bool a, bool low, bool high) { return (a | low) & high; }
};

}  // namespace
}  // namespace bodies

namespace {

template <typename Op>
void set_integers(RunTable& table, Body body) {
  set_scalar<Op, uint8_t, int8_t, int16_t, int32_t, int64_t>(table, body);
}
template <typename Op>
void set_wrapping_integers(RunTable& table, Body body) {
  set_wrapping<Op, uint8_t, int8_t, int16_t, int32_t, int64_t>(table, body);
}
template <typename Op>
void set_compare(RunTable& table, Body body) {
  set_predicate<Op, uint8_t, int8_t, int16_t, int32_t, int64_t, bool>(table, body);
}

template <typename T>
constexpr QuotientRuns kQuotientRuns{
    &scalar_run<bodies::IntegerDivFloor, T>, &scalar_run<bodies::IntegerDivTrunc, T>,
    &scalar_run<bodies::IntegerRemainder, T>, &scalar_run<bodies::IntegerFmod, T>};

}  // namespace

const QuotientRuns& plain_quotient_runs(ScalarType type) {
  return type == ScalarType::kInt ? kQuotientRuns<int32_t> : kQuotientRuns<int64_t>;
}

void add_integer_runs(RunTable& table) {
  set_wrapping_integers<bodies::Neg>(table, Body::kNeg);
  set_integers<bodies::Abs>(table, Body::kAbs);
  set_integers<bodies::IntegerSign>(table, Body::kSign);
  set_wrapping_integers<bodies::Square>(table, Body::kSquare);
  set_wrapping_integers<bodies::Cube>(table, Body::kCube);
  for (const Body whole : {Body::kFloor, Body::kCeil, Body::kTrunc, Body::kRound}) {
    set_integers<bodies::Identity>(table, whole);
  }
  set_scalar<bodies::Identity, int32_t, int64_t, float, double>(table, Body::kIdentity);
  set_wrapping_integers<bodies::Add>(table, Body::kAdd);
  set_wrapping_integers<bodies::Sub>(table, Body::kSub);
  set_wrapping_integers<bodies::Mul>(table, Body::kMul);
  set_wrapping_integers<bodies::AddScaled>(table, Body::kAddScaled);
  set_wrapping_integers<bodies::SubScaled>(table, Body::kSubScaled);
  set_wrapping_integers<bodies::Addcmul>(table, Body::kAddcmul);
  set_integers<bodies::IntegerDivTrunc>(table, Body::kDivTrunc);
  set_integers<bodies::IntegerDivFloor>(table, Body::kDivFloor);
  set_integers<bodies::IntegerRemainder>(table, Body::kRemainder);
  set_integers<bodies::IntegerFmod>(table, Body::kFmod);
  set_integers<bodies::IntegerPow>(table, Body::kPow);
  for (const Body max : {Body::kMaximum, Body::kFmax}) {
    set_integers<bodies::IntegerMax>(table, max);
    set_scalar<bodies::IntegerBitOr, bool>(table, max);
  }
  for (const Body min : {Body::kMinimum, Body::kFmin}) {
    set_integers<bodies::IntegerMin>(table, min);
    set_scalar<bodies::IntegerBitAnd, bool>(table, min);
  }
  set_integers<bodies::Clamp>(table, Body::kClamp);
  set_scalar<bodies::BoolClamp, bool>(table, Body::kClamp);
  set_integers<bodies::IntegerGcd>(table, Body::kGcd);
  set_integers<bodies::IntegerLcm>(table, Body::kLcm);
  set_integers<bodies::Heaviside>(table, Body::kHeaviside);
  set_scalar<bodies::Heaviside, bool>(table, Body::kHeaviside);
  set_integers<bodies::FirstOfFour>(table, Body::kNanToNum);
  set_scalar<bodies::FirstOfFour, bool>(table, Body::kNanToNum);
  set_integers<bodies::Relu>(table, Body::kRelu);
  set_integers<bodies::Threshold>(table, Body::kThreshold);
  set_scalar<bodies::IntegerBitOr, bool>(table, Body::kAdd);
  set_scalar<bodies::BoolAddScaled, bool>(table, Body::kAddScaled);
  set_scalar<bodies::IntegerBitAnd, bool>(table, Body::kMul);
  set_scalar<bodies::Identity, bool>(table, Body::kSign);
}

void add_truth_runs(RunTable& table) {
  set_integers<bodies::IntegerBitAnd>(table, Body::kBitAnd);
  set_integers<bodies::IntegerBitOr>(table, Body::kBitOr);
  set_integers<bodies::IntegerBitXor>(table, Body::kBitXor);
  set_integers<bodies::BitNot>(table, Body::kBitNot);
  set_integers<bodies::IntegerShiftLeft>(table, Body::kShiftLeft);
  set_integers<bodies::IntegerShiftRight>(table, Body::kShiftRight);
  for (const Body body : {Body::kBitAnd, Body::kLogicalAnd}) {
    set_scalar<bodies::IntegerBitAnd, bool>(table, body);
  }
  for (const Body body : {Body::kBitOr, Body::kLogicalOr}) {
    set_scalar<bodies::IntegerBitOr, bool>(table, body);
  }
  for (const Body body : {Body::kBitXor, Body::kLogicalXor}) {
    set_scalar<bodies::IntegerBitXor, bool>(table, body);
  }
  for (const Body body : {Body::kBitNot, Body::kLogicalNot}) {
    table.set(body, ScalarType::kBool, ScalarType::kBool, 1,
              &scalar_run<bodies::LogicalNot, uint8_t>);
  }
  set_compare<bodies::Eq>(table, Body::kEq);
  set_compare<bodies::Ne>(table, Body::kNe);
  set_compare<bodies::Lt>(table, Body::kLt);
  set_compare<bodies::Le>(table, Body::kLe);
  set_compare<bodies::Gt>(table, Body::kGt);
  set_compare<bodies::Ge>(table, Body::kGe);
  for (const Body body : {Body::kIsNan, Body::kIsInf, Body::kIsPosInf, Body::kIsNegInf}) {
    set_compare<bodies::Always<false>>(table, body);
  }
  set_compare<bodies::Always<true>>(table, Body::kIsFinite);
  set_compare<bodies::IntegerSignbit>(table, Body::kSignbit);
}

}  // namespace tierup::kernels
