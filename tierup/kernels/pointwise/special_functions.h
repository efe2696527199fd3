// Special functions of one double each: what has no vector code, or has it for most numbers only
// (gamma_lanes.h, polynomial_lanes.h). Outside of a function's domain the result is NaN (or the
// infinity of its pole); nothing throws. Named as in torch.special where it has them.
#pragma once

namespace tierup::kernels::special {

double digamma(double x);
double ndtri(double p);
double zeta(double s, double q);  // Hurwitz: the sum of (q + k)^-s.
double polygamma(double n, double x);
double igamma(double a, double x);   // Regularised lower incomplete gamma.
double igammac(double a, double x);  // Upper.

// Orthogonal polynomials of degree n (truncated to an integer; 0 for a negative one).
double chebyshev_t(double x, double n);
double chebyshev_u(double x, double n);
double chebyshev_v(double x, double n);
double chebyshev_w(double x, double n);
double shifted_chebyshev_t(double x, double n);
double shifted_chebyshev_u(double x, double n);
double shifted_chebyshev_v(double x, double n);
double shifted_chebyshev_w(double x, double n);
double hermite_h(double x, double n);
double hermite_he(double x, double n);
double laguerre(double x, double n);
double legendre(double x, double n);

}  // namespace tierup::kernels::special
