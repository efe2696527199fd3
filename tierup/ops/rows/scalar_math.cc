// Arithmetic of the language on numbers (and + and * of lists and strings, which share its names).
// Integers wrap; division of integers follows Python's floor; a zero divisor raises for integers.
#include <cmath>
#include <complex>
#include <numeric>

#include "tierup/base/memory_use.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/number_kernels.h"

namespace tierup::ops {
namespace {

// Results of list repetition above this are refused before they exhaust the memory.
constexpr int64_t kMaxListLength = int64_t{1} << 32;

void check_divisor(int64_t divisor) {
  require(divisor != 0, ErrorCode::kInvalidArgument, "division by 0");
}

int64_t floor_divide(int64_t a, int64_t b) {
  check_divisor(b);
  if (b == -1) return wrapping_sub(0, a);  // INT64_MIN / -1 traps.
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t floor_remainder(int64_t a, int64_t b) {
  check_divisor(b);
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The result has the divisor's sign.
double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

struct Add {
  static int64_t ints(int64_t a, int64_t b) { return wrapping_add(a, b); }
  static double floats(double a, double b) { return a + b; }
  static complex128 complexes(complex128 a, complex128 b) { return a + b; }
};
struct Subtract {
  static int64_t ints(int64_t a, int64_t b) { return wrapping_sub(a, b); }
  static double floats(double a, double b) { return a - b; }
  static complex128 complexes(complex128 a, complex128 b) { return a - b; }
};
struct Multiply {
  static int64_t ints(int64_t a, int64_t b) { return wrapping_mul(a, b); }
  static double floats(double a, double b) { return a * b; }
  static complex128 complexes(complex128 a, complex128 b) { return a * b; }
};
struct Divide : IntegersAsFloats<Divide> {
  static double floats(double a, double b) { return a / b; }
  static complex128 complexes(complex128 a, complex128 b) { return a / b; }
};
struct FloorDivide {
  static int64_t ints(int64_t a, int64_t b) { return floor_divide(a, b); }
  static double floats(double a, double b) { return std::floor(a / b); }
};
struct Remainder {
  static int64_t ints(int64_t a, int64_t b) { return floor_remainder(a, b); }
  // Not floor_remainder: a tiny negative rest becomes zero, and an infinite divisor gives NaN.
  static double floats(double a, double b) { return std::fmod(std::fmod(a, b) + b, b); }
};
// The result has the dividend's sign, and is a float also for integers.
struct TruncatedRemainder : IntegersAsFloats<TruncatedRemainder> {
  static double floats(double a, double b) { return std::fmod(a, b); }
};
struct NearestRemainder : IntegersAsFloats<NearestRemainder> {
  static double floats(double a, double b) { return std::remainder(a, b); }
};
struct Power : IntegersAsFloats<Power> {
  static double floats(double a, double b) {
    require(a != 0 || b >= 0 || std::isnan(b), ErrorCode::kInvalidArgument,
            "0.0 cannot be raised to a negative power");
    return std::pow(a, b);
  }
  static complex128 complexes(complex128 a, complex128 b) { return std::pow(a, b); }
};
struct IntegerPower {
  static int64_t ints(int64_t base, int64_t exponent) {
    if (exponent < 0) {
      require(base != 0, ErrorCode::kInvalidArgument, "0.0 cannot be raised to a negative power");
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return base == 1 ? 1 : 0;
    }
    int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = wrapping_mul(result, base);
      base = wrapping_mul(base, base);
    }
    return result;
  }
  static double floats(double a, double b) { return Power::floats(a, b); }
};
struct Negate {
  static int64_t integer(int64_t a) { return wrapping_sub(0, a); }
  static double floating(double a) { return -a; }
  static complex128 complex(complex128 a) { return -a; }
};
struct Absolute {
  static int64_t integer(int64_t a) { return a < 0 ? wrapping_sub(0, a) : a; }
  static double floating(double a) { return std::fabs(a); }
  static double complex(complex128 a) { return std::abs(a); }
};

void divide_with_remainder(OpCall& call) {
  const IValue& a = call.args[0];
  const IValue& b = call.args[1];
  if (is_integral(a) && is_integral(b)) {
    require(b.to_int() != 0, ErrorCode::kInvalidArgument,
            "ZeroDivisionError: integer division or modulo by zero");
    const int64_t quotient = floor_divide(a.to_int(), b.to_int());
    const int64_t rest = floor_remainder(a.to_int(), b.to_int());
    call.results[0] = IValue(quotient);
    call.results[1] = IValue(rest);
    return;
  }
  const double divisor = b.to_float();
  require(divisor != 0, ErrorCode::kInvalidArgument, "ZeroDivisionError: float divmod()");
  const double rest = floor_remainder(a.to_float(), divisor);
  const double quotient = (a.to_float() - rest) / divisor;
  call.results[0] = IValue(quotient);
  call.results[1] = IValue(rest);
}

void truncating_divide(OpCall& call) {
  const int64_t a = call.args[0].to_int();
  const int64_t b = call.args[1].to_int();
  check_divisor(b);
  call.results[0] = IValue(b == -1 ? wrapping_sub(0, a) : a / b);
}

void greatest_common_divisor(OpCall& call) {
  const auto magnitude = [](int64_t v) {
    return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  };
  const uint64_t result =
      std::gcd(magnitude(call.args[0].to_int()), magnitude(call.args[1].to_int()));
  call.results[0] = IValue(static_cast<int64_t>(result));
}

// Shift counts are taken modulo 64, as the reference's machine does.
void shift_left(OpCall& call) {
  const auto value = static_cast<uint64_t>(call.args[0].to_int());
  call.results[0] = IValue(static_cast<int64_t>(value << (call.args[1].to_int() & 63)));
}
void shift_right(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_int() >> (call.args[1].to_int() & 63));
}

void int_and(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_int() & call.args[1].to_int());
}
void int_or(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_int() | call.args[1].to_int());
}
void int_xor(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_int() ^ call.args[1].to_int());
}
void bool_and(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_bool() && call.args[1].to_bool());
}
void bool_or(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_bool() || call.args[1].to_bool());
}
void bool_xor(OpCall& call) {
  call.results[0] = IValue(call.args[0].to_bool() != call.args[1].to_bool());
}
void logical_not(OpCall& call) { call.results[0] = IValue(!call.args[0].to_bool()); }

void concatenate_strings(OpCall& call) {
  const std::string& a = call.args[0].to_str();
  const std::string& b = call.args[1].to_str();
  check_object_limit(a.size() + b.size());
  call.results[0] = IValue(a + b);
}

constexpr OpRow kRows[] = {
    {"aten::add.str(str a, str b) -> str", &concatenate_strings},
    {"aten::add.int(int a, int b) -> int", &binary_number<Add>, ir::kNoEffect, nullptr,
     facts(OpKind::kIntAdd)},
    {"aten::add.complex(complex a, complex b) -> complex", &binary_number<Add>},
    {"aten::add.float(float a, float b) -> float", &binary_number<Add>},
    {"aten::add.int_complex(int a, complex b) -> complex", &binary_number<Add>},
    {"aten::add.complex_int(complex a, int b) -> complex", &binary_number<Add>},
    {"aten::add.float_complex(float a, complex b) -> complex", &binary_number<Add>},
    {"aten::add.complex_float(complex a, float b) -> complex", &binary_number<Add>},
    {"aten::add.int_float(int a, float b) -> float", &binary_number<Add>},
    {"aten::add.float_int(float a, int b) -> float", &binary_number<Add>},
    {"aten::add(Scalar a, Scalar b) -> Scalar", &binary_number<Add>},
    {"aten::sub.int(int a, int b) -> int", &binary_number<Subtract>, ir::kNoEffect, nullptr,
     facts(OpKind::kIntSub)},
    {"aten::sub.complex(complex a, complex b) -> complex", &binary_number<Subtract>},
    {"aten::sub.float(float a, float b) -> float", &binary_number<Subtract>},
    {"aten::sub.int_complex(int a, complex b) -> complex", &binary_number<Subtract>},
    {"aten::sub.complex_int(complex a, int b) -> complex", &binary_number<Subtract>},
    {"aten::sub.float_complex(float a, complex b) -> complex", &binary_number<Subtract>},
    {"aten::sub.complex_float(complex a, float b) -> complex", &binary_number<Subtract>},
    {"aten::sub.int_float(int a, float b) -> float", &binary_number<Subtract>},
    {"aten::sub.float_int(float a, int b) -> float", &binary_number<Subtract>},
    {"aten::sub(Scalar a, Scalar b) -> Scalar", &binary_number<Subtract>},
    {"aten::mul.int(int a, int b) -> int", &binary_number<Multiply>, ir::kNoEffect, nullptr,
     facts(OpKind::kIntMul)},
    {"aten::mul.complex(complex a, complex b) -> complex", &binary_number<Multiply>},
    {"aten::mul.float(float a, float b) -> float", &binary_number<Multiply>},
    {"aten::mul.int_complex(int a, complex b) -> complex", &binary_number<Multiply>},
    {"aten::mul.complex_int(complex a, int b) -> complex", &binary_number<Multiply>},
    {"aten::mul.float_complex(float a, complex b) -> complex", &binary_number<Multiply>},
    {"aten::mul.complex_float(complex a, float b) -> complex", &binary_number<Multiply>},
    {"aten::mul.int_float(int a, float b) -> float", &binary_number<Multiply>},
    {"aten::mul.float_int(float a, int b) -> float", &binary_number<Multiply>},
    {"aten::mul(Scalar a, Scalar b) -> Scalar", &binary_number<Multiply>},
    {"aten::div.int(int a, int b) -> float", &binary_number<Divide>},
    {"aten::div.complex(complex a, complex b) -> complex", &binary_number<Divide>},
    {"aten::div.float(float a, float b) -> float", &binary_number<Divide>},
    {"aten::div(Scalar a, Scalar b) -> float", &binary_number<Divide>},
    {"aten::floordiv.int(int a, int b) -> int", &binary_number<FloorDivide>, ir::kMayRaise, nullptr,
     facts(OpKind::kIntFloorDiv)},
    {"aten::floordiv.float(float a, float b) -> float", &binary_number<FloorDivide>, ir::kMayRaise},
    {"aten::floordiv.int_float(int a, float b) -> float", &binary_number<FloorDivide>,
     ir::kMayRaise},
    {"aten::floordiv.float_int(float a, int b) -> float", &binary_number<FloorDivide>,
     ir::kMayRaise},
    {"aten::floordiv(Scalar a, Scalar b) -> Scalar", &binary_number<FloorDivide>, ir::kMayRaise},
    {"aten::remainder.int(int a, int b) -> int", &binary_number<Remainder>, ir::kMayRaise},
    {"aten::remainder.float(float a, float b) -> float", &binary_number<Remainder>, ir::kMayRaise},
    {"aten::remainder.int_float(int a, float b) -> float", &binary_number<Remainder>,
     ir::kMayRaise},
    {"aten::remainder.float_int(float a, int b) -> float", &binary_number<Remainder>,
     ir::kMayRaise},
    {"aten::remainder(Scalar a, Scalar b) -> Scalar", &binary_number<Remainder>, ir::kMayRaise},
    {"aten::fmod.int(int a, int b) -> float", &binary_number<TruncatedRemainder>},
    {"aten::fmod.float(float a, float b) -> float", &binary_number<TruncatedRemainder>},
    {"aten::fmod.int_float(int a, float b) -> float", &binary_number<TruncatedRemainder>},
    {"aten::fmod.float_int(float a, int b) -> float", &binary_number<TruncatedRemainder>},
    {"aten::fmod(Scalar a, Scalar b) -> float", &binary_number<TruncatedRemainder>},
    {"aten::mathremainder.int(int a, int b) -> float", &binary_number<NearestRemainder>},
    {"aten::mathremainder.float(float a, float b) -> float", &binary_number<NearestRemainder>},
    {"aten::mathremainder.int_float(int a, float b) -> float", &binary_number<NearestRemainder>},
    {"aten::mathremainder.float_int(float a, int b) -> float", &binary_number<NearestRemainder>},
    {"aten::mathremainder(Scalar a, Scalar b) -> float", &binary_number<NearestRemainder>},
    {"aten::pow.int(int a, int b) -> float", &binary_number<Power>, ir::kMayRaise},
    {"aten::pow.complex(complex a, complex b) -> complex", &binary_number<Power>, ir::kMayRaise},
    {"aten::pow.float(float a, float b) -> float", &binary_number<Power>, ir::kMayRaise},
    {"aten::pow.int_float(int a, float b) -> float", &binary_number<Power>, ir::kMayRaise},
    {"aten::pow.float_int(float a, int b) -> float", &binary_number<Power>, ir::kMayRaise},
    {"aten::pow.float_complex(float a, complex b) -> complex", &binary_number<Power>,
     ir::kMayRaise},
    {"aten::pow.complex_float(complex a, float b) -> complex", &binary_number<Power>,
     ir::kMayRaise},
    {"aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float", &binary_number<Power>, ir::kMayRaise},
    {"aten::pow.int_to_int(int a, int b) -> int", &binary_number<IntegerPower>, ir::kMayRaise},
    {"aten::neg.int(int a) -> int", &unary_number<Negate>},
    {"aten::neg.float(float a) -> float", &unary_number<Negate>},
    {"aten::neg.complex(complex a) -> complex", &unary_number<Negate>},
    {"aten::neg.Scalar(Scalar a) -> Scalar", &unary_number<Negate>},
    {"prim::abs.int(int a) -> int", &unary_number<Absolute>},
    {"prim::abs.float(float a) -> float", &unary_number<Absolute>},
    {"prim::abs.complex(complex a) -> float", &unary_number<Absolute>},
    {"prim::abs.Scalar(Scalar a) -> Scalar", &unary_number<Absolute>},
    {"aten::divmod.int(int x, int y) -> (int, int)", &divide_with_remainder, ir::kMayRaise},
    {"aten::divmod.float(float x, float y) -> (float, float)", &divide_with_remainder,
     ir::kMayRaise},
    {"aten::divmod.int_float(int x, float y) -> (float, float)", &divide_with_remainder,
     ir::kMayRaise},
    {"aten::divmod.float_int(float x, int y) -> (float, float)", &divide_with_remainder,
     ir::kMayRaise},
    {"aten::__round_to_zero_floordiv.int(int a, int b) -> int", &truncating_divide, ir::kMayRaise},
    {"aten::gcd(Tensor self, Tensor other) -> Tensor", &greatest_common_divisor},
    {"aten::gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     &greatest_common_divisor},
    {"aten::gcd.int(int a, int b) -> int", &greatest_common_divisor},
    {"aten::__lshift__.int(int a, int b) -> int", &shift_left},
    {"aten::__rshift__.int(int a, int b) -> int", &shift_right},
    {"aten::__and__.bool(bool a, bool b) -> bool", &bool_and},
    {"aten::__and__.int(int a, int b) -> int", &int_and},
    {"aten::__or__.bool(bool a, bool b) -> bool", &bool_or},
    {"aten::__or__.int(int a, int b) -> int", &int_or},
    {"aten::__xor__.bool(bool a, bool b) -> bool", &bool_xor},
    {"aten::__xor__.int(int a, int b) -> int", &int_xor},
    {"aten::__not__(bool self) -> bool", &logical_not, ir::kNoEffect, nullptr, facts(Role::kNot)},
};

}  // namespace

std::span<const OpRow> scalar_math_rows() { return kRows; }

}  // namespace tierup::ops
