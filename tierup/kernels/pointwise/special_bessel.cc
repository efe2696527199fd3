// Bessel functions of orders 0 and 1, and the Airy function (declared in special_functions.h).
#include "tierup/kernels/pointwise/special_policy.h"  // First: see there.

#include <boost/math/special_functions/airy.hpp>
#include <boost/math/special_functions/bessel.hpp>

#include "tierup/kernels/pointwise/special_functions.h"

namespace tierup::kernels::special {
namespace {

// From here on the exponentially scaled functions follow their asymptotic series.
constexpr double kAsymptotic = 300;

// Sum of the large-argument series of exp(x) K_v(x), without the leading factor; mu = 4 v^2.
double asymptotic_sum(double mu, double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 20; ++k) {
    const double odd = 2.0 * k - 1;
    term *= (mu - odd * odd) / (8 * x * k);
    sum += term;
    if (std::abs(term) < 1e-17) break;
  }
  return sum;
}

double scaled_k(int order, double x) {
  if (x == 0) return kInf;
  if (!(x > 0)) return kNan;
  if (x > kAsymptotic) return asymptotic_sum(4.0 * order, x) * std::sqrt(M_PI / (2 * x));
  return std::exp(x) * boost::math::cyl_bessel_k(order, x, Quiet());
}

double plain_k(int order, double x) {
  if (x == 0) return kInf;
  if (!(x > 0)) return kNan;
  if (x > 800) return 0;
  return boost::math::cyl_bessel_k(order, x, Quiet());
}

double plain_y(int order, double x) {
  if (x == 0) return -kInf;
  if (!(x > 0)) return kNan;
  return std::isinf(x) ? 0 : boost::math::cyl_neumann(order, x, Quiet());
}

}  // namespace

double bessel_j0(double x) {
  if (std::isnan(x)) return x;
  return std::isinf(x) ? 0 : boost::math::cyl_bessel_j(0, std::abs(x), Quiet());
}
double bessel_j1(double x) {
  if (std::isnan(x)) return x;
  const double value = std::isinf(x) ? 0 : boost::math::cyl_bessel_j(1, std::abs(x), Quiet());
  return x < 0 ? -value : value;
}
double bessel_y0(double x) { return plain_y(0, x); }
double bessel_y1(double x) { return plain_y(1, x); }
double bessel_k0(double x) { return plain_k(0, x); }
double bessel_k1(double x) { return plain_k(1, x); }
double scaled_bessel_k0(double x) { return scaled_k(0, x); }
double scaled_bessel_k1(double x) { return scaled_k(1, x); }

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

double airy_ai(double x) {
  if (std::isnan(x)) return x;
  if (x > 110) return 0;
  if (x < -1e10) return kNan;
  return boost::math::airy_ai(x, Quiet());
}

}  // namespace tierup::kernels::special
