#include "tierup/kernels/pointwise/special_functions.h"

#include "tierup/kernels/pointwise/special_policy.h"  // First of what includes Boost.Math: see there.

#include <array>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>

namespace tierup::kernels::special {
namespace {

// Bernoulli numbers B2, B4, ... over (2j)!: the terms of the Euler-Maclaurin sum.
constexpr std::array<double, 12> kBernoulliTerms = {1.0 / 12,
                                                    -1.0 / 720,
                                                    1.0 / 30240,
                                                    -1.0 / 1209600,
                                                    1.0 / 47900160,
                                                    -691.0 / 1307674368000.0,
                                                    1.0 / 74724249600.0,
                                                    -3617.0 / 10670622842880000.0,
                                                    43867.0 / 5109094217170944000.0,
                                                    -174611.0 / 802857662698291200000.0,
                                                    77683.0 / 14101100039391805440000.0,
                                                    -236364091.0 / 1693824136731743669452800000.0};
constexpr double kSumUpTo = 12;        // Terms are added one by one below this argument.
constexpr double kLowestShift = -1e6;  // More terms than that are not worth their time.

}  // namespace

double digamma(double x) {
  if (x == 0) return std::copysign(kInf, -x);
  if (std::isinf(x)) return x > 0 ? x : kNan;
  if (x < 0 && x == std::floor(x)) return kNan;
  return boost::math::digamma(x, Quiet());
}

double ndtri(double p) {
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (!(p > 0 && p < 1)) return kNan;
  return -M_SQRT2 * boost::math::erfc_inv(2 * p, Quiet());
}

double zeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s) || q < kLowestShift) return kNan;
  }
  double sum = 0;
  double a = q;
  for (; a < kSumUpTo; a += 1) sum += std::pow(a, -s);
  const double last = std::pow(a, -s);
  sum += last * a / (s - 1) + last / 2;
  double factor = s;
  double power = last / a;
  for (size_t j = 0; j < kBernoulliTerms.size(); ++j) {
    const double term = kBernoulliTerms[j] * factor * power;
    sum += term;
    if (std::abs(term) <= std::abs(sum) * 1e-17) break;
    const double next = s + 2 * static_cast<double>(j) + 1;
    factor *= next * (next + 1);
    power /= a * a;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(std::lgamma(n + 1)) * zeta(n + 1, x);
}

double igamma(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  if (std::isinf(x)) return 1;
  return boost::math::gamma_p(a, x, Quiet());
}

double igammac(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 0 : kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  if (std::isinf(x)) return 0;
  return boost::math::gamma_q(a, x, Quiet());
}

}  // namespace tierup::kernels::special
