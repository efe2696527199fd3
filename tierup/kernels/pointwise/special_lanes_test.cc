// Special functions of doubles over lanes, against Boost.Math and the scalar functions.
#include "tierup/kernels/pointwise/special_policy.h"  // First of what includes Boost.Math.

#include <gtest/gtest.h>

#include <boost/math/special_functions/airy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/kernels/pointwise/special_functions.h"

namespace tierup::kernels {
namespace {

using special::Quiet;
using Doubles = std::vector<double>;

std::vector<InstructionSet> known_sets() {
  std::vector<InstructionSet> known{InstructionSet::kBase};
  for (const InstructionSet set : {InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set <= instruction_set()) known.push_back(set);
  }
  return known;
}

Doubles run(InstructionSet set, Body body, const Doubles& x, const Doubles& y = {}) {
  Doubles out(x.size());
  const char* const in[] = {reinterpret_cast<const char*>(x.data()),
                            reinterpret_cast<const char*>(y.data())};
  RunTable::of(set)
      .find(body, ScalarType::kDouble)
      ->run(reinterpret_cast<char*>(out.data()), in, static_cast<int64_t>(x.size()));
  return out;
}

struct Case {
  Body body;
  std::function<double(double)> exact;
  double tolerance;  // Relative to the larger of the value and `scale`.
  double scale = 0;
};

void expect_near(const Case& c, const Doubles& x) {
  for (const InstructionSet set : known_sets()) {
    const Doubles y = run(set, c.body, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = c.exact(x[i]);
      const bool is_same = y[i] == want || (std::isnan(y[i]) && std::isnan(want));
      const double most = c.tolerance * std::max(c.scale, std::abs(want));
      ASSERT_TRUE(is_same || std::abs(y[i] - want) <= most)
          << body_name(c.body) << "(" << x[i] << ") gave " << y[i] << ", not " << want;
    }
  }
}

Doubles spread(double low, double high, int count) {
  Doubles x;
  for (int i = 0; i < count; ++i) x.push_back(low + (high - low) * (i + 0.37) / count);
  return x;
}

// Within two units of the last place, from end to end of the numbers.
TEST(SpecialFunctions, AnglesAndHyperbolesAreTheLibrarys) {
  const double close = 5e-16;
  const Doubles ends{0.0,  -0.0, INFINITY, -INFINITY, NAN,       5e-324,    -1e-310,
                     1e-8, 1e19, 1e300,    -1e300,    710.4,     709.9,     -710.4,
                     0.5,  -0.5, 1.0,      -1.0,      1.0000001, 0.9999999, 2.42};
  const auto expect_all = [&](const Case& c, Doubles x) {
    x.insert(x.end(), ends.begin(), ends.end());
    expect_near(c, x);
    for (const double zero : {0.0, -0.0})
      EXPECT_EQ(std::signbit(run(instruction_set(), c.body, {zero})[0]), std::signbit(zero));
  };
  expect_all({Body::kTan, [](double v) { return std::tan(v); }, close}, spread(-400, 400, 30000));
  expect_all({Body::kAtan, [](double v) { return std::atan(v); }, close}, spread(-5, 5, 30000));
  expect_all({Body::kAsin, [](double v) { return std::asin(v); }, close}, spread(-1, 1, 30000));
  expect_all({Body::kSinh, [](double v) { return std::sinh(v); }, close}, spread(-20, 20, 30000));
  expect_all({Body::kAsinh, [](double v) { return std::asinh(v); }, close}, spread(-9, 9, 30000));
  expect_all({Body::kAtanh, [](double v) { return std::atanh(v); }, close}, spread(-1, 1, 30000));
  Doubles x = spread(-1, 1, 3000);
  x.insert(x.end(), ends.begin(), ends.end());
  for (const double y : x) {
    expect_near({Body::kCosh, [](double v) { return std::cosh(v); }, close}, {y, y * 20});
    expect_near({Body::kAcos, [](double v) { return std::acos(v); }, close}, {y});
  }
  for (const InstructionSet set : known_sets()) {
    for (const double scale : {1.0, 1e-300, 1e250}) {
      for (size_t i = 0; i < x.size(); ++i) {
        const double a = x[i];
        const double b = x[(i * 7) % x.size()] * scale;
        const double length = run(set, Body::kHypot, {a}, {b})[0];
        const double angle = run(set, Body::kAtan2, {a}, {b})[0];
        const double far = std::hypot(a, b);
        const double turned = std::atan2(a, b);
        EXPECT_TRUE(length == far || std::abs(length - far) <= std::max(close * far, 5e-324) ||
                    (std::isnan(far) && std::isnan(length)))
            << a << b;
        EXPECT_TRUE(angle == turned ||
                    std::abs(angle - turned) <= std::max(close * std::abs(turned), 5e-324) ||
                    (std::isnan(turned) && std::isnan(angle)))
            << a << " " << b;
      }
    }
  }
}

// Of oscillating functions, relative to their height.
TEST(SpecialFunctions, BesselFunctionsAreBoosts) {
  Doubles x = spread(-60, 60, 3000);
  for (const double more : {8.0, -8.0, 8.0000001, 2.0, 2.0000001, 1e-3, 1e-100, 300.0})
    x.push_back(more);
  const auto j = [](int order) {
    return [order](double v) {
      const double value = boost::math::cyl_bessel_j(order, std::abs(v), Quiet());
      return order == 1 && v < 0 ? -value : value;
    };
  };
  expect_near({Body::kBesselJ0, j(0), 1e-14, 0.3}, x);
  expect_near({Body::kBesselJ1, j(1), 1e-14, 0.3}, x);
  for (double& v : x) v = std::abs(v);
  const auto y = [](int order) {
    return [order](double v) { return boost::math::cyl_neumann(order, v, Quiet()); };
  };
  expect_near({Body::kBesselY0, y(0), 1e-14, 0.5}, x);
  expect_near({Body::kBesselY1, y(1), 1e-14, 0.5}, x);
  const auto k = [](int order, bool is_scaled) {
    return [=](double v) {
      return boost::math::cyl_bessel_k(order, v, Quiet()) * (is_scaled ? std::exp(v) : 1);
    };
  };
  expect_near({Body::kBesselK0, k(0, false), 4e-15}, x);
  expect_near({Body::kBesselK1, k(1, false), 4e-15}, x);
  expect_near({Body::kScaledBesselK0, k(0, true), 8e-15}, x);
  expect_near({Body::kScaledBesselK1, k(1, true), 8e-15}, x);
}

TEST(SpecialFunctions, BesselFunctionsEndAsPyTorchs) {
  const Doubles ends{0, INFINITY, -INFINITY, NAN, -1};
  const auto expect = [&](Body body, const Doubles& wanted) {
    for (const InstructionSet set : known_sets()) {
      const Doubles y = run(set, body, ends);
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_TRUE(y[i] == wanted[i] || (std::isnan(y[i]) && std::isnan(wanted[i])))
            << body_name(body) << "(" << ends[i] << ") gave " << y[i];
      }
    }
  };
  expect(Body::kBesselJ0, {1, 0, 0, NAN});
  expect(Body::kBesselJ1, {0, 0, 0, NAN});
  for (const Body body : {Body::kBesselY0, Body::kBesselY1})
    expect(body, {-INFINITY, 0, NAN, NAN, NAN});
  for (const Body body :
       {Body::kBesselK0, Body::kBesselK1, Body::kScaledBesselK0, Body::kScaledBesselK1})
    expect(body, {INFINITY, 0, NAN, NAN, NAN});
  expect(Body::kSphericalBesselJ0, {1, 0, 0, NAN, std::sin(1.0)});
  expect(Body::kDigamma, {-INFINITY, INFINITY, NAN, NAN, NAN});
  expect(Body::kErfcx, {1, 0, INFINITY, NAN});
  expect(Body::kErfc, {1, 0, 2, NAN});
  expect(Body::kLogNdtr, {std::log(0.5), 0, -INFINITY, NAN});
}

TEST(SpecialFunctions, AiryIsBoosts) {
  const auto exact = [](double v) { return boost::math::airy_ai(v, Quiet()); };
  Doubles x = spread(-30, 1.5, 2000);
  for (const double more : {-4.0, -4.0000001, 1.5}) x.push_back(more);
  expect_near({Body::kAiryAi, exact, 5e-14, 0.3}, x);  // Angles reach 100.
  expect_near({Body::kAiryAi, exact, 6e-14}, spread(1.5, 25, 1000));
  EXPECT_EQ(run(instruction_set(), Body::kAiryAi, {INFINITY})[0], 0);
}

TEST(SpecialFunctions, DigammaAndTrigammaAreBoosts) {
  Doubles x = spread(-20, 40, 4000);
  for (const double more : {1e-5, 8.0, 7.9999999, 1e10}) x.push_back(more);
  const auto digamma = [](double v) {
    if (v > 0) return special::digamma(v);
    return special::digamma(1 - v) - M_PI / std::tan(M_PI * (v - std::nearbyint(v)));
  };
  expect_near({Body::kDigamma, digamma, 4e-15, 1}, x);
  Doubles above = spread(0, 60, 3000);
  const Doubles ones(above.size(), 1.0);
  for (const InstructionSet set : known_sets()) {
    const Doubles y = run(set, Body::kPolygamma, ones, above);
    for (size_t i = 0; i < above.size(); ++i) {
      const double want = boost::math::trigamma(above[i], Quiet());
      ASSERT_NEAR(y[i], want, 4e-15 * want) << above[i];
    }
    const Doubles second = run(set, Body::kPolygamma, {2, 1, 3}, {1.5, 1.5, 2.5});
    EXPECT_NEAR(second[0], special::polygamma(2, 1.5), 1e-12);
    EXPECT_NEAR(second[1], 0.93480220054467930942, 1e-14);
    EXPECT_NEAR(second[2], special::polygamma(3, 2.5), 1e-12);
  }
}

TEST(SpecialFunctions, ErrorFunctionsKeepTheirDigits) {
  const Doubles x = spread(-8, 26, 3000);
  expect_near({Body::kErfc, [](double v) { return std::erfc(v); }, 2e-15}, x);
  const auto below = [](double v) { return std::exp(v * v) * std::erfc(v); };
  expect_near({Body::kErfcx, below, 3e-13}, spread(-8, 20, 2000));
  const auto ndtr = [](double v) { return 0.5 * std::erfc(-v * M_SQRT1_2); };
  expect_near({Body::kNdtr, ndtr, 5e-15}, spread(-10, 10, 2000));
  const auto upper = [](double v) { return std::log1p(-0.5 * std::erfc(v * M_SQRT1_2)); };
  expect_near({Body::kLogNdtr, [&](double v) { return std::log(ndtr(v)); }, 1e-14},
              spread(-30, -1, 2000));
  expect_near({Body::kLogNdtr, upper, 1e-14}, spread(-1, 8, 2000));
}

TEST(SpecialFunctions, IncompleteGammaIsBoosts) {
  Doubles a;
  Doubles x;
  for (const double shape : {1e-6, 0.01, 0.3, 0.9, 1.0, 2.5, 8.4, 8.6, 30.0, 150.0, 199.0, 500.0}) {
    for (const double ratio : {1e-3, 0.3, 0.8, 0.99, 1.0, 1.01, 1.3, 3.0, 30.0}) {
      for (const double more : {0.0, 0.01, 1.0}) {
        a.push_back(shape);
        x.push_back(shape * ratio + more);
      }
    }
  }
  for (const auto& [edge, value] : std::vector<std::pair<double, double>>{
           {0, 1}, {1, 0}, {-1, 2}, {2, -1}, {INFINITY, 1}, {1, INFINITY}, {NAN, 1}, {1, NAN}}) {
    a.push_back(edge);
    x.push_back(value);
  }
  for (const InstructionSet set : known_sets()) {
    const Doubles lower = run(set, Body::kIgamma, a, x);
    const Doubles upper = run(set, Body::kIgammac, a, x);
    for (size_t i = 0; i < a.size(); ++i) {
      const double p = special::igamma(a[i], x[i]);
      const double q = special::igammac(a[i], x[i]);
      const auto is_near = [](double got, double want) {
        return (std::isnan(got) && std::isnan(want)) ||
               std::abs(got - want) <= 5e-13 * std::abs(want) + 1e-300;
      };
      ASSERT_TRUE(is_near(lower[i], p))
          << a[i] << ", " << x[i] << ": " << lower[i] << ", not " << p;
      ASSERT_TRUE(is_near(upper[i], q))
          << a[i] << ", " << x[i] << ": " << upper[i] << ", not " << q;
    }
  }
}

TEST(SpecialFunctions, PolynomialsOfOneDegreeAreThoseOfEachNumber) {
  const std::pair<Body, double (*)(double, double)> polynomials[] = {
      {Body::kChebyshevT, &special::chebyshev_t}, {Body::kChebyshevU, &special::chebyshev_u},
      {Body::kChebyshevV, &special::chebyshev_v}, {Body::kChebyshevW, &special::chebyshev_w},
      {Body::kHermiteH, &special::hermite_h},     {Body::kHermiteHe, &special::hermite_he},
      {Body::kLaguerre, &special::laguerre},      {Body::kLegendre, &special::legendre}};
  Doubles x = spread(-2, 2, 61);
  for (const double more : Doubles{1, -1, 0, 1e200, INFINITY, NAN}) x.push_back(more);
  for (const auto& [body, exact] : polynomials) {
    for (const double n : {-1.0, 0.0, 1.0, 2.7, 6.0, 8.0, 9.0, 30.0, 70.0}) {
      for (const InstructionSet set : known_sets()) {
        const Doubles y = run(set, body, x, Doubles(x.size(), n));
        for (size_t i = 0; i < x.size(); ++i) {
          const double want = exact(x[i], n);
          ASSERT_TRUE(y[i] == want || (std::isnan(y[i]) && std::isnan(want)))
              << body_name(body) << n << " of " << x[i] << ": " << y[i] << ", not " << want;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
