// Runs over complex64 and complex128: plain loops over std::complex. Some have vector runs beside
// them: complex_run.h.
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/scalar_run.h"

namespace tierup::kernels {
namespace bodies {
namespace {

// By the formula, as PyTorch: std::complex looks for infinities behind each product that is NaN.
struct ComplexMul {
  static constexpr size_t kArity = 2;
  template <typename T>
  static std::complex<T> apply(std::complex<T> a, std::complex<T> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
// In double, where no square of a float overflows or is lost; infinities and zeros by
// std::complex, which looks at each quotient that is NaN.
struct ComplexDiv {
  static constexpr size_t kArity = 2;
  static complex64 apply(complex64 a, complex64 b) {
    const double c = b.real();
    const double d = b.imag();
    const double part = 1 / (c * c + d * d);
    const double real = (a.real() * c + a.imag() * d) * part;
    const double imag = (a.imag() * c - a.real() * d) * part;
    // Both are finite if and only if this is.
    if (!std::isfinite(real * 0 + imag * 0)) return a / b;
    return {static_cast<float>(real), static_cast<float>(imag)};
  }
  static complex128 apply(complex128 a, complex128 b) { return a / b; }
};
// The magnitude must be taken without overflow of the squares, as std::abs does.
struct ComplexAbs {
  static constexpr size_t kArity = 1;
  template <typename T>
  static T apply(std::complex<T> z) {
    return std::abs(z);
  }
};
struct ComplexAngle {
  static constexpr size_t kArity = 1;
  template <typename T>
  static T apply(std::complex<T> z) {
    return std::arg(z);
  }
};
struct ComplexSgn {
  static constexpr size_t kArity = 1;
  template <typename T>
  static std::complex<T> apply(std::complex<T> z) {
    const T length = std::abs(z);
    return length == 0 ? std::complex<T>(0) : z / length;
  }
};

#define TIERUP_COMPLEX_BODY(name, expression) \
  struct Complex##name {                      \
    static constexpr size_t kArity = 1;       \
    template <typename T>                     \
    static auto apply(std::complex<T> z) {    \
      return expression;                      \
    }                                         \
  }
TIERUP_COMPLEX_BODY(Exp2, std::exp(z* static_cast<T>(M_LN2)));
TIERUP_COMPLEX_BODY(Log2, std::log(z) * static_cast<T>(M_LOG2E));
TIERUP_COMPLEX_BODY(Sigmoid, T(1) / (T(1) + std::exp(-z)));
TIERUP_COMPLEX_BODY(Silu, z / (T(1) + std::exp(-z)));
TIERUP_COMPLEX_BODY(Reciprocal, T(1) / z);
TIERUP_COMPLEX_BODY(Conj, std::conj(z));
TIERUP_COMPLEX_BODY(Rsqrt, T(1) / std::sqrt(z));
TIERUP_COMPLEX_BODY(IsNan, std::isnan(z.real()) || std::isnan(z.imag()));
TIERUP_COMPLEX_BODY(IsInf, std::isinf(z.real()) || std::isinf(z.imag()));
TIERUP_COMPLEX_BODY(IsFinite, std::isfinite(z.real()) && std::isfinite(z.imag()));
TIERUP_COMPLEX_BODY(Sinc, z == T(0)
                              ? std::complex<T>(1)
                              : std::sin(z * static_cast<T>(M_PI)) / (z * static_cast<T>(M_PI)));

// exp(z) - 1 and log(1 + z) without cancellation near 0.
struct ComplexExpm1 {
  static constexpr size_t kArity = 1;
  template <typename T>
  static std::complex<T> apply(std::complex<T> z) {
    const T half = std::sin(z.imag() / 2);
    const T growth = std::expm1(z.real());
    return {growth * std::cos(z.imag()) - 2 * half * half, std::exp(z.real()) * std::sin(z.imag())};
  }
};
struct ComplexLog1p {
  static constexpr size_t kArity = 1;
  template <typename T>
  static std::complex<T> apply(std::complex<T> z) {
    const T x = z.real();
    const T y = z.imag();
    const T excess = x * (2 + x) + y * y;
    const T real = std::abs(excess) < T(0.5) ? std::log1p(excess) / 2
                                             : std::log(std::abs(std::complex<T>(1 + x, y)));
    return {real, std::atan2(y, 1 + x)};
  }
};
// 0 to any power with a positive real part is 0; to the power 0, 1.
struct ComplexPow {
  static constexpr size_t kArity = 2;
  template <typename T>
  static std::complex<T> apply(std::complex<T> a, std::complex<T> b) {
    if (b == T(0)) return {1, 0};
    return std::pow(a, b);
  }
};
struct ComplexLerp {
  static constexpr size_t kArity = 3;
  template <typename T>
  static std::complex<T> apply(std::complex<T> a, std::complex<T> b, std::complex<T> w) {
    return std::norm(w) < T(0.25) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
  }
};
// Each part by itself, as for real numbers.
struct ComplexNanToNum {
  static constexpr size_t kArity = 4;
  template <typename T>
  static std::complex<T> apply(std::complex<T> z, std::complex<T> nan, std::complex<T> positive,
                               std::complex<T> negative) {
    const auto part = [&](T x) {
      if (std::isnan(x)) return nan.real();
      return std::isinf(x) ? (x > 0 ? positive : negative).real() : x;
    };
    return {part(z.real()), part(z.imag())};
  }
};
// log(exp(a) + exp(b)) around the operand with the larger real part.
struct ComplexLogaddexp {
  static constexpr size_t kArity = 2;
  template <typename T>
  static std::complex<T> apply(std::complex<T> a, std::complex<T> b) {
    const auto is_nan = [](std::complex<T> z) {
      return std::isnan(z.real()) || std::isnan(z.imag());
    };
    if (is_nan(a) || is_nan(b)) return {T(NAN), T(NAN)};
    const bool ascending = a.real() < b.real();
    const std::complex<T> low = ascending ? a : b;
    const std::complex<T> high = ascending ? b : a;
    if (std::isinf(low.real()) && low.real() == high.real()) {
      return low.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
    }
    if (std::isinf(low.real()) || std::isinf(high.real())) return high;
    return high + ComplexLog1p::apply(std::exp(low - high));
  }
};
struct ComplexXlogy {
  static constexpr size_t kArity = 2;
  template <typename T>
  static std::complex<T> apply(std::complex<T> a, std::complex<T> b) {
    return a == T(0) ? std::complex<T>(0) : a * std::log(b);
  }
};

}  // namespace
}  // namespace bodies

namespace {

template <typename Op>
void set_complex(RunTable& table, Body body) {
  set_scalar<Op, complex64, complex128>(table, body);
}
template <typename Op>
void set_complex_predicate(RunTable& table, Body body) {
  set_predicate<Op, complex64, complex128>(table, body);
}
template <typename Op>
void set_complex_to_real(RunTable& table, Body body) {
  table.set(body, ScalarType::kComplexFloat, ScalarType::kFloat, Op::kArity,
            &scalar_run<Op, complex64, float>);
  table.set(body, ScalarType::kComplexDouble, ScalarType::kDouble, Op::kArity,
            &scalar_run<Op, complex128, double>);
}

#define SAME(name) set_complex<bodies::name>(table, Body::k##name)
#define OWN(name) set_complex<bodies::Complex##name>(table, Body::k##name)

void add_complex_functions(RunTable& table) {
  SAME(Exp), OWN(Exp2), OWN(Expm1), SAME(Log), OWN(Log2), SAME(Log10), OWN(Log1p), SAME(Sin);
  SAME(Cos), SAME(Tan), SAME(Asin), SAME(Acos), SAME(Atan), SAME(Sinh), SAME(Cosh), SAME(Tanh);
  SAME(Asinh), SAME(Acosh), SAME(Atanh), SAME(Sqrt), OWN(Rsqrt), OWN(Sigmoid), OWN(Silu), OWN(Sinc);
  OWN(Pow), OWN(Xlogy), OWN(Logaddexp);
}

}  // namespace

const ComplexRuns& plain_complex_runs() {
  static constexpr ComplexRuns runs{
      &scalar_run<bodies::ComplexAbs, complex64, float>, &scalar_run<bodies::ComplexSgn, complex64>,
      &scalar_run<bodies::ComplexMul, complex64>, &scalar_run<bodies::ComplexDiv, complex64>};
  return runs;
}

void add_complex_runs(RunTable& table) {
  add_complex_functions(table);
  SAME(Neg), SAME(Square), SAME(Cube), OWN(Reciprocal), SAME(Add), SAME(Sub), OWN(Mul), OWN(Div);
  SAME(AddScaled), SAME(SubScaled), SAME(Addcmul), SAME(Addcdiv), OWN(Lerp), OWN(Sgn), OWN(Conj);
  OWN(NanToNum);
  set_complex_to_real<bodies::ComplexAbs>(table, Body::kAbs);
  set_complex_to_real<bodies::ComplexAngle>(table, Body::kAngle);
  set_complex_predicate<bodies::Eq>(table, Body::kEq);
  set_complex_predicate<bodies::Ne>(table, Body::kNe);
  set_complex_predicate<bodies::ComplexIsNan>(table, Body::kIsNan);
  set_complex_predicate<bodies::ComplexIsInf>(table, Body::kIsInf);
  set_complex_predicate<bodies::ComplexIsFinite>(table, Body::kIsFinite);
}

#undef SAME
#undef OWN

}  // namespace tierup::kernels
