// The math module on numbers. Integers are taken as floats, except by floor, ceil and round.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "tierup/ops/table/families.h"
#include "tierup/ops/table/number_kernels.h"

namespace tierup::ops {
namespace {

// A function of floats, whose complex form (if it has one) goes by the same name.
#define TIERUP_FLOAT_FUNCTION(Name, function)                                     \
  struct Name {                                                                   \
    static double integer(int64_t a) { return floating(static_cast<double>(a)); } \
    static double floating(double a) { return std::function(a); }                 \
  };
#define TIERUP_COMPLEX_FUNCTION(Name, function)                                   \
  struct Name {                                                                   \
    static double integer(int64_t a) { return floating(static_cast<double>(a)); } \
    static double floating(double a) { return std::function(a); }                 \
    static complex128 complex(complex128 a) { return std::function(a); }          \
  };

TIERUP_COMPLEX_FUNCTION(Sqrt, sqrt)
TIERUP_COMPLEX_FUNCTION(Exp, exp)
TIERUP_COMPLEX_FUNCTION(Log, log)
TIERUP_COMPLEX_FUNCTION(Log10, log10)
TIERUP_COMPLEX_FUNCTION(Sin, sin)
TIERUP_COMPLEX_FUNCTION(Cos, cos)
TIERUP_COMPLEX_FUNCTION(Tan, tan)
TIERUP_COMPLEX_FUNCTION(Asin, asin)
TIERUP_COMPLEX_FUNCTION(Acos, acos)
TIERUP_COMPLEX_FUNCTION(Atan, atan)
TIERUP_COMPLEX_FUNCTION(Sinh, sinh)
TIERUP_COMPLEX_FUNCTION(Cosh, cosh)
TIERUP_COMPLEX_FUNCTION(Tanh, tanh)
TIERUP_COMPLEX_FUNCTION(Asinh, asinh)
TIERUP_COMPLEX_FUNCTION(Acosh, acosh)
TIERUP_COMPLEX_FUNCTION(Atanh, atanh)
TIERUP_FLOAT_FUNCTION(Log1p, log1p)
TIERUP_FLOAT_FUNCTION(Expm1, expm1)
TIERUP_FLOAT_FUNCTION(Erf, erf)
TIERUP_FLOAT_FUNCTION(Erfc, erfc)
TIERUP_FLOAT_FUNCTION(Gamma, tgamma)
TIERUP_FLOAT_FUNCTION(LogGamma, lgamma)
TIERUP_FLOAT_FUNCTION(FloatAbs, fabs)
TIERUP_FLOAT_FUNCTION(Round, nearbyint)  // Half to even: the rounding mode is never changed.

#undef TIERUP_FLOAT_FUNCTION
#undef TIERUP_COMPLEX_FUNCTION

struct Degrees {
  static double integer(int64_t a) { return floating(static_cast<double>(a)); }
  static double floating(double a) { return a * (180.0 / std::numbers::pi); }
};
struct Radians {
  static double integer(int64_t a) { return floating(static_cast<double>(a)); }
  static double floating(double a) { return a * (std::numbers::pi / 180.0); }
};
struct IsNan {
  static bool integer(int64_t /*a*/) { return false; }
  static bool floating(double a) { return std::isnan(a); }
  static bool complex(complex128 a) { return std::isnan(a.real()) || std::isnan(a.imag()); }
};
struct IsInf {
  static bool integer(int64_t /*a*/) { return false; }
  static bool floating(double a) { return std::isinf(a); }
  static bool complex(complex128 a) { return std::isinf(a.real()) || std::isinf(a.imag()); }
};
struct IsFinite {
  static bool integer(int64_t /*a*/) { return true; }
  static bool floating(double a) { return std::isfinite(a); }
  static bool complex(complex128 a) { return std::isfinite(a.real()) && std::isfinite(a.imag()); }
};

int64_t to_integer(double value) {
  constexpr double kTwo63 = 9223372036854775808.0;
  require(value >= -kTwo63 && value < kTwo63, ErrorCode::kOutOfRange,
          "Cannot convert float {:f} to integer", value);
  return static_cast<int64_t>(value);
}
struct Floor {
  static int64_t integer(int64_t a) { return a; }
  static int64_t floating(double a) { return to_integer(std::floor(a)); }
};
struct Ceil {
  static int64_t integer(int64_t a) { return a; }
  static int64_t floating(double a) { return to_integer(std::ceil(a)); }
};
struct Angle {
  static double integer(int64_t a) { return a < 0 ? std::numbers::pi : 0.0; }
  static double floating(double a) {
    if (std::isnan(a)) return a;
    return a < 0 ? std::numbers::pi : 0.0;
  }
  static double complex(complex128 a) { return std::arg(a); }
};

struct LogBase : IntegersAsFloats<LogBase> {
  static double floats(double a, double b) { return std::log(a) / std::log(b); }
  static complex128 complexes(complex128 a, complex128 b) { return std::log(a) / std::log(b); }
};
struct Atan2 : IntegersAsFloats<Atan2> {
  static double floats(double a, double b) { return std::atan2(a, b); }
};
struct CopySign : IntegersAsFloats<CopySign> {
  static double floats(double a, double b) { return std::copysign(a, b); }
};
struct Polar : IntegersAsFloats<Polar> {
  static complex128 floats(double length, double angle) {
    return {length * std::cos(angle), length * std::sin(angle)};
  }
};

void split_exponent(OpCall& call) {
  int exponent = 0;
  const double mantissa = std::frexp(call.args[0].to_float(), &exponent);
  call.results[0] = IValue(mantissa);
  call.results[1] = IValue(int64_t{exponent});
}

void join_exponent(OpCall& call) {
  constexpr int64_t kLimit = 100000;  // Beyond any double's exponent.
  const int64_t exponent = std::clamp<int64_t>(call.args[1].to_int(), -kLimit, kLimit);
  call.results[0] = IValue(std::ldexp(call.args[0].to_float(), static_cast<int>(exponent)));
}

void split_fraction(OpCall& call) {
  double whole = 0;
  const double fraction = std::modf(call.args[0].to_float(), &whole);
  call.results[0] = IValue(fraction);
  call.results[1] = IValue(whole);
}

void factorial(OpCall& call) {
  const int64_t n = call.args[0].to_int();
  require(n >= 0, ErrorCode::kInvalidArgument,
          "ValueError: factorial() not defined for negative values");
  // From 66! on, all 64 bits that remain after wrapping are zero.
  int64_t result = 1;
  for (int64_t i = 2; i <= n && result != 0; ++i) result = wrapping_mul(result, i);
  call.results[0] = IValue(result);
}

constexpr OpRow kRows[] = {
    {"aten::sqrt.int(int a) -> float", &unary_number<Sqrt>},
    {"aten::sqrt.float(float a) -> float", &unary_number<Sqrt>},
    {"aten::sqrt.complex(complex a) -> complex", &unary_number<Sqrt>},
    {"aten::sqrt.Scalar(Scalar a) -> Scalar", &unary_number<Sqrt>},
    {"aten::exp.int(int a) -> float", &unary_number<Exp>},
    {"aten::exp.float(float a) -> float", &unary_number<Exp>},
    {"aten::exp.complex(complex a) -> complex", &unary_number<Exp>},
    {"aten::exp.Scalar(Scalar a) -> Scalar", &unary_number<Exp>},
    {"aten::log.int(int a) -> float", &unary_number<Log>},
    {"aten::log.float(float a) -> float", &unary_number<Log>},
    {"aten::log.complex(complex a) -> complex", &unary_number<Log>},
    {"aten::log.Scalar(Scalar a) -> Scalar", &unary_number<Log>},
    {"aten::log.int_int(int a, int b) -> float", &binary_number<LogBase>},
    {"aten::log.float_float(float a, float b) -> float", &binary_number<LogBase>},
    {"aten::log.complex_complex(complex a, complex b) -> complex", &binary_number<LogBase>},
    {"aten::log.int_float(int a, float b) -> float", &binary_number<LogBase>},
    {"aten::log.float_int(float a, int b) -> float", &binary_number<LogBase>},
    {"aten::log.int_complex(int a, complex b) -> complex", &binary_number<LogBase>},
    {"aten::log.complex_int(complex a, int b) -> complex", &binary_number<LogBase>},
    {"aten::log.float_complex(float a, complex b) -> complex", &binary_number<LogBase>},
    {"aten::log.complex_float(complex a, float b) -> complex", &binary_number<LogBase>},
    {"aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float", &binary_number<LogBase>},
    {"aten::log10.int(int a) -> float", &unary_number<Log10>},
    {"aten::log10.float(float a) -> float", &unary_number<Log10>},
    {"aten::log10.complex(complex a) -> complex", &unary_number<Log10>},
    {"aten::log10.Scalar(Scalar a) -> Scalar", &unary_number<Log10>},
    {"aten::sin.int(int a) -> float", &unary_number<Sin>},
    {"aten::sin.float(float a) -> float", &unary_number<Sin>},
    {"aten::sin.complex(complex a) -> complex", &unary_number<Sin>},
    {"aten::sin.Scalar(Scalar a) -> Scalar", &unary_number<Sin>},
    {"aten::cos.int(int a) -> float", &unary_number<Cos>},
    {"aten::cos.float(float a) -> float", &unary_number<Cos>},
    {"aten::cos.complex(complex a) -> complex", &unary_number<Cos>},
    {"aten::cos.Scalar(Scalar a) -> Scalar", &unary_number<Cos>},
    {"aten::tan.int(int a) -> float", &unary_number<Tan>},
    {"aten::tan.float(float a) -> float", &unary_number<Tan>},
    {"aten::tan.complex(complex a) -> complex", &unary_number<Tan>},
    {"aten::tan.Scalar(Scalar a) -> Scalar", &unary_number<Tan>},
    {"aten::asin.int(int a) -> float", &unary_number<Asin>},
    {"aten::asin.float(float a) -> float", &unary_number<Asin>},
    {"aten::asin.complex(complex a) -> complex", &unary_number<Asin>},
    {"aten::asin.Scalar(Scalar a) -> Scalar", &unary_number<Asin>},
    {"aten::acos.int(int a) -> float", &unary_number<Acos>},
    {"aten::acos.float(float a) -> float", &unary_number<Acos>},
    {"aten::acos.complex(complex a) -> complex", &unary_number<Acos>},
    {"aten::acos.Scalar(Scalar a) -> Scalar", &unary_number<Acos>},
    {"aten::atan.int(int a) -> float", &unary_number<Atan>},
    {"aten::atan.float(float a) -> float", &unary_number<Atan>},
    {"aten::atan.complex(complex a) -> complex", &unary_number<Atan>},
    {"aten::atan.Scalar(Scalar a) -> Scalar", &unary_number<Atan>},
    {"aten::sinh.int(int a) -> float", &unary_number<Sinh>},
    {"aten::sinh.float(float a) -> float", &unary_number<Sinh>},
    {"aten::sinh.complex(complex a) -> complex", &unary_number<Sinh>},
    {"aten::sinh.Scalar(Scalar a) -> Scalar", &unary_number<Sinh>},
    {"aten::cosh.int(int a) -> float", &unary_number<Cosh>},
    {"aten::cosh.float(float a) -> float", &unary_number<Cosh>},
    {"aten::cosh.complex(complex a) -> complex", &unary_number<Cosh>},
    {"aten::cosh.Scalar(Scalar a) -> Scalar", &unary_number<Cosh>},
    {"aten::tanh.int(int a) -> float", &unary_number<Tanh>},
    {"aten::tanh.float(float a) -> float", &unary_number<Tanh>},
    {"aten::tanh.complex(complex a) -> complex", &unary_number<Tanh>},
    {"aten::tanh.Scalar(Scalar a) -> Scalar", &unary_number<Tanh>},
    {"aten::asinh.int(int a) -> float", &unary_number<Asinh>},
    {"aten::asinh.float(float a) -> float", &unary_number<Asinh>},
    {"aten::asinh.complex(complex a) -> complex", &unary_number<Asinh>},
    {"aten::asinh.Scalar(Scalar a) -> Scalar", &unary_number<Asinh>},
    {"aten::acosh.int(int a) -> float", &unary_number<Acosh>},
    {"aten::acosh.float(float a) -> float", &unary_number<Acosh>},
    {"aten::acosh.complex(complex a) -> complex", &unary_number<Acosh>},
    {"aten::acosh.Scalar(Scalar a) -> Scalar", &unary_number<Acosh>},
    {"aten::atanh.int(int a) -> float", &unary_number<Atanh>},
    {"aten::atanh.float(float a) -> float", &unary_number<Atanh>},
    {"aten::atanh.complex(complex a) -> complex", &unary_number<Atanh>},
    {"aten::atanh.Scalar(Scalar a) -> Scalar", &unary_number<Atanh>},
    {"aten::log1p.int(int a) -> float", &unary_number<Log1p>},
    {"aten::log1p.float(float a) -> float", &unary_number<Log1p>},
    {"aten::log1p.Scalar(Scalar a) -> Scalar", &unary_number<Log1p>},
    {"aten::expm1.int(int a) -> float", &unary_number<Expm1>},
    {"aten::expm1.float(float a) -> float", &unary_number<Expm1>},
    {"aten::expm1.Scalar(Scalar a) -> Scalar", &unary_number<Expm1>},
    {"aten::erf.int(int a) -> float", &unary_number<Erf>},
    {"aten::erf.float(float a) -> float", &unary_number<Erf>},
    {"aten::erf.Scalar(Scalar a) -> Scalar", &unary_number<Erf>},
    {"aten::erfc.int(int a) -> float", &unary_number<Erfc>},
    {"aten::erfc.float(float a) -> float", &unary_number<Erfc>},
    {"aten::erfc.Scalar(Scalar a) -> Scalar", &unary_number<Erfc>},
    {"aten::gamma.int(int a) -> float", &unary_number<Gamma>},
    {"aten::gamma.float(float a) -> float", &unary_number<Gamma>},
    {"aten::gamma.Scalar(Scalar a) -> Scalar", &unary_number<Gamma>},
    {"aten::lgamma.int(int a) -> float", &unary_number<LogGamma>},
    {"aten::lgamma.float(float a) -> float", &unary_number<LogGamma>},
    {"aten::lgamma.Scalar(Scalar a) -> Scalar", &unary_number<LogGamma>},
    {"aten::fabs.int(int a) -> float", &unary_number<FloatAbs>},
    {"aten::fabs.float(float a) -> float", &unary_number<FloatAbs>},
    {"aten::fabs.Scalar(Scalar a) -> Scalar", &unary_number<FloatAbs>},
    {"aten::degrees.int(int a) -> float", &unary_number<Degrees>},
    {"aten::degrees.float(float a) -> float", &unary_number<Degrees>},
    {"aten::degrees.Scalar(Scalar a) -> Scalar", &unary_number<Degrees>},
    {"aten::radians.int(int a) -> float", &unary_number<Radians>},
    {"aten::radians.float(float a) -> float", &unary_number<Radians>},
    {"aten::radians.Scalar(Scalar a) -> Scalar", &unary_number<Radians>},
    {"aten::isnan.float(float a) -> bool", &unary_number<IsNan>},
    {"aten::isnan.complex(complex a) -> bool", &unary_number<IsNan>},
    {"aten::isinf.float(float a) -> bool", &unary_number<IsInf>},
    {"aten::isinf.complex(complex a) -> bool", &unary_number<IsInf>},
    {"aten::isfinite.float(float a) -> bool", &unary_number<IsFinite>},
    {"aten::isfinite.complex(complex a) -> bool", &unary_number<IsFinite>},
    {"aten::round.int(int a) -> float", &unary_number<Round>},
    {"aten::round.float(float a) -> float", &unary_number<Round>},
    {"aten::round.Scalar(Scalar a) -> Scalar", &unary_number<Round>},
    {"aten::floor.int(int a) -> int", &unary_number<Floor>, ir::kMayRaise},
    {"aten::floor.float(float a) -> int", &unary_number<Floor>, ir::kMayRaise},
    {"aten::floor.Scalar(Scalar a) -> Scalar", &unary_number<Floor>, ir::kMayRaise},
    {"aten::ceil.int(int a) -> int", &unary_number<Ceil>, ir::kMayRaise},
    {"aten::ceil.float(float a) -> int", &unary_number<Ceil>, ir::kMayRaise},
    {"aten::ceil.Scalar(Scalar a) -> Scalar", &unary_number<Ceil>, ir::kMayRaise},
    {"aten::angle.int(int a) -> float", &unary_number<Angle>},
    {"aten::angle.float(float a) -> float", &unary_number<Angle>},
    {"aten::angle.complex(complex a) -> float", &unary_number<Angle>},
    {"aten::angle.Scalar(Scalar a) -> Scalar", &unary_number<Angle>},
    {"aten::atan2.int(int a, int b) -> float", &binary_number<Atan2>},
    {"aten::atan2.float(float a, float b) -> float", &binary_number<Atan2>},
    {"aten::atan2.int_float(int a, float b) -> float", &binary_number<Atan2>},
    {"aten::atan2.float_int(float a, int b) -> float", &binary_number<Atan2>},
    {"aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float", &binary_number<Atan2>},
    {"aten::copysign.int(int a, int b) -> float", &binary_number<CopySign>},
    {"aten::copysign.float(float a, float b) -> float", &binary_number<CopySign>},
    {"aten::copysign.int_float(int a, float b) -> float", &binary_number<CopySign>},
    {"aten::copysign.float_int(float a, int b) -> float", &binary_number<CopySign>},
    {"aten::copysign(Scalar a, Scalar b) -> float", &binary_number<CopySign>},
    {"aten::polar.int(int a, int b) -> complex", &binary_number<Polar>},
    {"aten::polar.float(float a, float b) -> complex", &binary_number<Polar>},
    {"aten::polar.int_float(int a, float b) -> complex", &binary_number<Polar>},
    {"aten::polar.float_int(float a, int b) -> complex", &binary_number<Polar>},
    {"aten::polar.Scalar_Scalar(Scalar a, Scalar b) -> Scalar", &binary_number<Polar>},
    {"aten::frexp(float a) -> (float, int)", &split_exponent},
    {"aten::ldexp(float x, int i) -> float", &join_exponent},
    {"aten::modf(float a) -> (float, float)", &split_fraction},
    {"aten::factorial.int(int a) -> int", &factorial, ir::kMayRaise},
};

}  // namespace

std::span<const OpRow> scalar_functions_rows() { return kRows; }

}  // namespace tierup::ops
