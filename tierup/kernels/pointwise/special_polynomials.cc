// Orthogonal polynomials by their three-term recurrences (declared in special_functions.h).
#include <cmath>

#include "tierup/base/interrupt.h"
#include "tierup/kernels/pointwise/special_functions.h"
#include "tierup/kernels/pointwise/special_policy.h"

namespace tierup::kernels::special {
namespace {

// Steps after which a recurrence is given up: no result of that degree would mean anything.
constexpr int64_t kMaxDegree = 10'000'000;
// Steps between two questions whether to stop.
constexpr int64_t kUnasked = 1 << 16;

// p(0) = 1, p(1) = first, p(k + 1) = next(k, p(k), p(k - 1)).
template <typename Next>
double recur(double n, double first, const Next& next) {
  n = std::trunc(n);
  if (!(n >= 0)) return std::isnan(n) ? kNan : 0;
  if (n == 0) return 1;
  const bool is_given_up = n > static_cast<double>(kMaxDegree);
  const int64_t steps = is_given_up ? kMaxDegree : static_cast<int64_t>(n);
  double before = 1;
  double now = first;
  for (int64_t k = 1; k < steps; ++k) {
    const double after = next(static_cast<double>(k), now, before);
    before = now;
    now = after;
    if (!std::isfinite(now)) return now;
    if (k % kUnasked == 0) [[unlikely]]
      poll_interrupt();
  }
  return is_given_up ? kNan : now;
}

double chebyshev(double x, double n, double first) {
  return recur(n, first, [x](double, double now, double before) { return 2 * x * now - before; });
}

// The value at -1 of a polynomial of degree n that is `value` there but for the sign.
double alternating(double n, double value) {
  return std::fmod(std::trunc(n), 2) == 0 ? value : -value;
}

}  // namespace

// At the ends of [-1, 1] the recurrences would count their steps.
double chebyshev_t(double x, double n) {
  if (std::abs(x) == 1 && n >= 0) return x > 0 ? 1 : alternating(n, 1);
  if (n > 6 && std::abs(x) < 1) return std::cos(std::trunc(n) * std::acos(x));
  return chebyshev(x, n, x);
}
double chebyshev_u(double x, double n) {
  if (std::abs(x) == 1 && n >= 0) {
    const double value = std::trunc(n) + 1;
    return x > 0 ? value : alternating(n, value);
  }
  if (n > 8 && std::abs(x) < 1) {
    const double angle = std::acos(x);
    const double sine = std::sin(angle);
    if (sine != 0) return std::sin((std::trunc(n) + 1) * angle) / sine;
  }
  return chebyshev(x, n, 2 * x);
}
double chebyshev_v(double x, double n) {
  if (std::abs(x) == 1 && n >= 0) return x > 0 ? 1 : alternating(n, 2 * std::trunc(n) + 1);
  if (n > 8 && std::abs(x) < 1) {
    const double half = std::acos(x) / 2;
    if (std::cos(half) != 1) return std::cos((2 * std::trunc(n) + 1) * half) / std::cos(half);
  }
  return chebyshev(x, n, 2 * x - 1);
}
double chebyshev_w(double x, double n) {
  if (std::abs(x) == 1 && n >= 0) return x > 0 ? 2 * std::trunc(n) + 1 : alternating(n, 1);
  if (n > 8 && std::abs(x) < 1) {
    const double half = std::acos(x) / 2;
    if (std::sin(half) != 0) return std::sin((2 * std::trunc(n) + 1) * half) / std::sin(half);
  }
  return chebyshev(x, n, 2 * x + 1);
}
double shifted_chebyshev_t(double x, double n) { return chebyshev_t(2 * x - 1, n); }
double shifted_chebyshev_u(double x, double n) { return chebyshev_u(2 * x - 1, n); }
double shifted_chebyshev_v(double x, double n) { return chebyshev_v(2 * x - 1, n); }
double shifted_chebyshev_w(double x, double n) { return chebyshev_w(2 * x - 1, n); }

double hermite_h(double x, double n) {
  return recur(n, 2 * x,
               [x](double k, double now, double before) { return 2 * (x * now - k * before); });
}
double hermite_he(double x, double n) {
  return recur(n, x, [x](double k, double now, double before) { return x * now - k * before; });
}
double laguerre(double x, double n) {
  if (x == 0 && n >= 0) return 1;
  return recur(n, 1 - x, [x](double k, double now, double before) {
    return ((2 * k + 1 - x) * now - k * before) / (k + 1);
  });
}
double legendre(double x, double n) {
  if (std::abs(x) == 1 && n >= 0) return x > 0 ? 1 : alternating(n, 1);
  return recur(n, x, [x](double k, double now, double before) {
    return ((2 * k + 1) * x * now - k * before) / (k + 1);
  });
}

}  // namespace tierup::kernels::special
