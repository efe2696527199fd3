// Special functions of one double each. Outside of a function's domain the result is NaN (or the
// infinity of its pole); nothing throws. Named as in torch.special where it has them.
#pragma once

namespace tierup::kernels::special {

double erfcx(double x);  // exp(x^2) * erfc(x)
double digamma(double x);
double ndtr(double x);
double ndtri(double p);
double log_ndtr(double x);
double zeta(double s, double q);  // Hurwitz: the sum of (q + k)^-s.
double polygamma(double n, double x);
// polygamma(1, x), in the precision of its argument: near the poles at negative integers the sine
// of the reflection decides.
float trigamma(float x);
double trigamma(double x);
double igamma(double a, double x);   // Regularised lower incomplete gamma.
double igammac(double a, double x);  // Upper.

double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double scaled_bessel_k0(double x);  // exp(x) * k0(x)
double scaled_bessel_k1(double x);
double spherical_bessel_j0(double x);
double airy_ai(double x);

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
