// Vector functions against the C library in double, and the instruction sets against each other.
#include "tierup/kernels/pointwise/special_policy.h"  // First of what includes Boost.Math.

#include <gtest/gtest.h>

#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "tierup/kernels/pointwise/pointwise_runs.h"

namespace tierup::kernels {
namespace {

// Every 65521st float: about 65 thousand of all signs, exponents and NaNs.
std::vector<float> spread_floats() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65521) {
    const auto word = static_cast<uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &word, sizeof(value));
    values.push_back(value);
  }
  return values;
}

// Operands beyond the first are x from its second, third... element on.
std::vector<float> run(const RunTable& table, Body body, const std::vector<float>& x) {
  const Variant* variant = table.find(body, ScalarType::kFloat);
  std::vector<float> y(x.size() + 1 - variant->arity);
  const char* in[kMaxInputs];
  for (size_t i = 0; i < kMaxInputs; ++i) in[i] = reinterpret_cast<const char*>(x.data() + i);
  variant->run(reinterpret_cast<char*>(y.data()), in, static_cast<int64_t>(y.size()));
  return y;
}

std::vector<InstructionSet> sets() {
  std::vector<InstructionSet> known{InstructionSet::kBase};
  for (const InstructionSet set : {InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set <= instruction_set()) known.push_back(set);
  }
  return known;
}

void expect_same_bits(Body body, InstructionSet one, InstructionSet other,
                      const std::vector<float>& x) {
  const std::vector<float> y = run(RunTable::of(one), body, x);
  const std::vector<float> z = run(RunTable::of(other), body, x);
  for (size_t i = 0; i < y.size(); ++i) {
    const bool both_nan = std::isnan(y[i]) && std::isnan(z[i]);
    ASSERT_TRUE(both_nan || std::memcmp(&y[i], &z[i], sizeof(float)) == 0)
        << body_name(body) << "(" << x[i] << "): " << y[i] << " and " << z[i];
  }
}

// Distance in units of the last place of the wanted float.
double ulps(float got, double want) {
  const auto rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isnan(got)) {
    return std::isnan(rounded) && std::isnan(got) ? 0 : INFINITY;
  }
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got)) return std::abs(want) > 3.4e38 ? 1 : INFINITY;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

double erfinv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? x * INFINITY : NAN;
  return boost::math::erf_inv(x, special::Quiet());
}
double normal_quantile(double p) {
  if (!(p > 0 && p < 1)) return p == 0 || p == 1 ? (p - 0.5) * INFINITY : NAN;
  return -M_SQRT2 * boost::math::erfc_inv(2 * p, special::Quiet());
}
double bessel_i(int order, bool is_scaled, double x) {
  const double a = std::abs(x);
  const double value = boost::math::cyl_bessel_i(order, a, special::Quiet());
  return (is_scaled ? value * std::exp(-a) : value) * (order == 1 && x < 0 ? -1 : 1);
}

struct Function {
  Body body;
  std::function<double(double)> exact;
};

std::vector<Function> functions() {
  return {
      {Body::kExp, [](double x) { return std::exp(x); }},
      {Body::kExp2, [](double x) { return std::exp2(x); }},
      {Body::kExpm1, [](double x) { return std::expm1(x); }},
      {Body::kLog, [](double x) { return std::log(x); }},
      {Body::kLog2, [](double x) { return std::log2(x); }},
      {Body::kLog10, [](double x) { return std::log10(x); }},
      {Body::kLog1p, [](double x) { return std::log1p(x); }},
      {Body::kTanh, [](double x) { return std::tanh(x); }},
      {Body::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Body::kErf, [](double x) { return std::erf(x); }},
      {Body::kErfc, [](double x) { return std::erfc(x); }},
      {Body::kSin, [](double x) { return std::sin(x); }},
      {Body::kCos, [](double x) { return std::cos(x); }},
      {Body::kTan, [](double x) { return std::tan(x); }},
      {Body::kAsin, [](double x) { return std::asin(x); }},
      {Body::kAcos, [](double x) { return std::acos(x); }},
      {Body::kAtan, [](double x) { return std::atan(x); }},
      {Body::kAngle, [](double x) { return std::isnan(x) ? x : (x < 0 ? M_PI : 0); }},
      {Body::kSinh, [](double x) { return std::sinh(x); }},
      {Body::kCosh, [](double x) { return std::cosh(x); }},
      {Body::kAsinh, [](double x) { return std::asinh(x); }},
      {Body::kAcosh, [](double x) { return std::acosh(x); }},
      {Body::kAtanh, [](double x) { return std::atanh(x); }},
      {Body::kLgamma, [](double x) { return std::lgamma(x); }},
      {Body::kErfinv, &erfinv},
      {Body::kNdtr, [](double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }},
      {Body::kNdtri, &normal_quantile},
      {Body::kEntr, [](double x) { return x > 0 ? -x * std::log(x) : (x < 0 ? -INFINITY : x); }},
      {Body::kRsqrt, [](double x) { return 1 / std::sqrt(x); }}};
}

TEST(VectorFunctions, AreWithinTwoUlps) {
  const std::vector<float> x = spread_floats();
  for (const Function& function : functions()) {
    for (const InstructionSet set : sets()) {
      const std::vector<float> y = run(RunTable::of(set), function.body, x);
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_LE(ulps(y[i], function.exact(x[i])), 2.0)
            << body_name(function.body) << "(" << x[i] << ") gave " << y[i];
      }
    }
  }
}

std::vector<double> run(const RunTable& table, Body body, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const char* const in = reinterpret_cast<const char*>(x.data());
  table.find(body, ScalarType::kDouble)
      ->run(reinterpret_cast<char*>(y.data()), &in, static_cast<int64_t>(x.size()));
  return y;
}

// Relative to 1 near the roots of the first.
TEST(VectorFunctions, TakeGammaAndErrorFunctionsOfDoubles) {
  std::vector<double> x{0,     -0.0,  INFINITY, -INFINITY, NAN, 1,         2,          -3,
                        1e300, -1e17, 5e-324,   -5e-324,   8.5, -4.5,      4e15,       2.6e305,
                        1e-9,  -1e-9, 0.5,      -0.5,      -1,  1 - 1e-16, -1 + 1e-16, 1.5};
  for (int i = -4000; i < 4000; ++i) x.push_back(i / 173.0);
  for (int i = 1; i < 4000; ++i) x.push_back(1 - std::exp(-i / 110.0));
  const std::pair<Body, double (*)(double)> functions[] = {
      {Body::kLgamma, [](double v) { return std::lgamma(v); }}, {Body::kErfinv, &erfinv}};
  for (const InstructionSet set : sets()) {
    for (const auto& [body, exact] : functions) {
      const std::vector<double> y = run(RunTable::of(set), body, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = exact(x[i]);
        const bool is_same = y[i] == want || (std::isnan(y[i]) && std::isnan(want));
        const double least = body == Body::kLgamma ? 1 : 0;
        ASSERT_TRUE(is_same || std::abs(y[i] - want) <= 4e-15 * std::max(least, std::abs(want)))
            << body_name(body) << "(" << x[i] << ") gave " << y[i] << ", not " << want;
      }
    }
  }
}

TEST(VectorFunctions, TakeModifiedBesselFunctions) {
  std::vector<double> x{0, 1e-300, 8, -8, 8.0000001, 300, -600, 700};
  for (int i = -3000; i < 3000; ++i) x.push_back(i / 97.0);
  const std::tuple<Body, int, bool> functions[] = {
      {Body::kI0, 0, false}, {Body::kI0e, 0, true}, {Body::kI1, 1, false}, {Body::kI1e, 1, true}};
  for (const InstructionSet set : sets()) {
    for (const auto& [body, order, is_scaled] : functions) {
      const std::vector<double> y = run(RunTable::of(set), body, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = bessel_i(order, is_scaled, x[i]);
        ASSERT_NEAR(y[i], want, 4e-15 * std::abs(want)) << body_name(body) << "(" << x[i] << ")";
      }
      const std::vector<double> ends =
          run(RunTable::of(set), body, std::vector<double>{INFINITY, -INFINITY, NAN});
      const double end = is_scaled ? 0 : INFINITY;
      EXPECT_EQ(ends[0], end);
      EXPECT_EQ(ends[1], order == 1 ? -end : end);
      EXPECT_TRUE(std::isnan(ends[2]));
    }
  }
}

TEST(VectorFunctions, StepToTheNextNumber) {
  const std::vector<double> ends{0, -0.0, 1, -3.5, 5e-324, -1e308, INFINITY, -INFINITY};
  for (const InstructionSet set : sets()) {
    const BlockRun next = RunTable::of(set).find(Body::kNextafter, ScalarType::kDouble)->run;
    for (const double a : ends) {
      for (const double b : ends) {
        double y = 0;
        const char* const in[] = {reinterpret_cast<const char*>(&a),
                                  reinterpret_cast<const char*>(&b)};
        next(reinterpret_cast<char*>(&y), in, 1);
        const double want = std::nextafter(a, b);
        EXPECT_TRUE(y == want && std::signbit(y) == std::signbit(want)) << a << " to " << b;
      }
    }
  }
}

TEST(VectorFunctions, KeepTheSignOfZero) {
  const std::vector<float> zeros{0.0F, -0.0F};
  for (const Body body :
       {Body::kSin, Body::kTan, Body::kTanh, Body::kExpm1, Body::kLog1p, Body::kErf, Body::kAsin,
        Body::kAtan, Body::kSinh, Body::kAsinh, Body::kErfinv}) {
    for (const InstructionSet set : sets()) {
      const std::vector<float> y = run(RunTable::of(set), body, zeros);
      EXPECT_EQ(y[0], 0.0F);
      EXPECT_FALSE(std::signbit(y[0])) << body_name(body);
      EXPECT_TRUE(std::signbit(y[1])) << body_name(body);
    }
  }
}

// Decision 0022.
TEST(VectorRuns, GiveTheSameBitsWithAvx2AndAvx512) {
  if (instruction_set() != InstructionSet::kAvx512) GTEST_SKIP() << "needs AVX-512";
  const std::vector<float> x = spread_floats();
  for (size_t b = 0; b < static_cast<size_t>(Body::kCount); ++b) {
    const auto body = static_cast<Body>(b);
    const Variant* variant = RunTable::instance().find(body, ScalarType::kFloat);
    if (variant == nullptr || variant->out != ScalarType::kFloat) continue;
    if (variant->in[0] != ScalarType::kFloat) continue;
    expect_same_bits(body, InstructionSet::kAvx2, InstructionSet::kAvx512, x);
  }
}

TEST(VectorRuns, RoundEachOperationOfArithmetic) {
  const std::vector<float> x = spread_floats();
  for (const InstructionSet set : sets()) {
    for (const Body body : {Body::kNeg,       Body::kAbs,         Body::kSign,      Body::kSquare,
                            Body::kCube,      Body::kReciprocal,  Body::kRound,     Body::kFrac,
                            Body::kSqrt,      Body::kRsqrt,       Body::kAdd,       Body::kMul,
                            Body::kDiv,       Body::kAddScaled,   Body::kSubScaled, Body::kClamp,
                            Body::kLerp,      Body::kAddcmul,     Body::kAddcdiv,   Body::kRelu,
                            Body::kHardswish, Body::kHardsigmoid, Body::kLeakyRelu}) {
      expect_same_bits(body, InstructionSet::kBase, set, x);
    }
  }
}

// Lanes of masks become bools, which are narrower than any number.
template <typename T>
void expect_compared(InstructionSet set) {
  for (size_t count = 1; count < 40; ++count) {
    std::vector<T> x;
    std::vector<T> y;
    for (size_t i = 0; i < count; ++i) {
      x.push_back(static_cast<T>(i * 7 % 11));
      y.push_back(static_cast<T>(i * 5 % 13));
    }
    std::vector<uint8_t> less(count + 1, 7);
    const char* in[] = {reinterpret_cast<const char*>(x.data()),
                        reinterpret_cast<const char*>(y.data())};
    RunTable::of(set)
        .find(Body::kLt, kDTypeOf<T>)
        ->run(reinterpret_cast<char*>(less.data()), in, static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(less[i], x[i] < y[i] ? 1 : 0) << i;
    ASSERT_EQ(less[count], 7);
  }
}
TEST(VectorRuns, CompareLaneByLane) {
  for (const InstructionSet set : sets()) {
    expect_compared<float>(set);
    expect_compared<double>(set);
  }
}

TEST(VectorRuns, HandleEveryLengthWithoutTouchingMore) {
  for (int64_t count = 0; count < 40; ++count) {
    std::vector<float> x(static_cast<size_t>(count) + 1, 3.0F);
    std::vector<float> y(static_cast<size_t>(count) + 1, -1.0F);
    const char* in[] = {reinterpret_cast<const char*>(x.data())};
    RunTable::instance()
        .find(Body::kSquare, ScalarType::kFloat)
        ->run(reinterpret_cast<char*>(y.data()), in, count);
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], 9.0F);
    ASSERT_EQ(y[static_cast<size_t>(count)], -1.0F);
  }
}

}  // namespace
}  // namespace tierup::kernels
