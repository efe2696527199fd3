// Orthogonal polynomials of one degree by their three-term recurrences, over lanes.
#pragma once

#include "tierup/kernels/pointwise/gamma_lanes.h"
#include "tierup/kernels/pointwise/special_functions.h"

namespace tierup::kernels::TIERUP_SIMD {

// Each as in special_polynomials.cc, operation by operation: what has other degrees, or larger ones
// than kMost, is done there, number by number.
struct Recurrence {
  static constexpr double kMost = 64;
};
template <int kSecond>  // The coefficients of p(1) = kFirst x + kSecond.
struct ChebyshevLike : Recurrence {
  static constexpr double kMost = 8;  // Of larger degrees by angles.
  static TIERUP_INLINE Wide first(Wide x) { return Wide(2) * x + Wide(kSecond); }
  static TIERUP_INLINE Wide next(Wide x, Wide, Wide now, Wide before) {
    return Wide(2) * x * now - before;
  }
};
struct ChebyshevU : ChebyshevLike<0> {
  static constexpr auto kExact = &special::chebyshev_u;
};
struct ChebyshevV : ChebyshevLike<-1> {
  static constexpr auto kExact = &special::chebyshev_v;
};
struct ChebyshevW : ChebyshevLike<1> {
  static constexpr auto kExact = &special::chebyshev_w;
};
struct ChebyshevT : ChebyshevLike<0> {
  static constexpr auto kExact = &special::chebyshev_t;
  static constexpr double kMost = 6;
  static TIERUP_INLINE Wide first(Wide x) { return x; }
};
struct HermiteH : Recurrence {
  static constexpr auto kExact = &special::hermite_h;
  static TIERUP_INLINE Wide first(Wide x) { return Wide(2) * x; }
  static TIERUP_INLINE Wide next(Wide x, Wide k, Wide now, Wide before) {
    return Wide(2) * (x * now - k * before);
  }
};
struct HermiteHe : Recurrence {
  static constexpr auto kExact = &special::hermite_he;
  static TIERUP_INLINE Wide first(Wide x) { return x; }
  static TIERUP_INLINE Wide next(Wide x, Wide k, Wide now, Wide before) {
    return x * now - k * before;
  }
};
struct Laguerre : Recurrence {
  static constexpr auto kExact = &special::laguerre;
  static TIERUP_INLINE Wide first(Wide x) { return Wide(1) - x; }
  static TIERUP_INLINE Wide next(Wide x, Wide k, Wide now, Wide before) {
    return ((Wide(2) * k + Wide(1) - x) * now - k * before) / (k + Wide(1));
  }
};
struct Legendre : Recurrence {
  static constexpr auto kExact = &special::legendre;
  static TIERUP_INLINE Wide first(Wide x) { return x; }
  static TIERUP_INLINE Wide next(Wide x, Wide k, Wide now, Wide before) {
    return ((Wide(2) * k + Wide(1)) * x * now - k * before) / (k + Wide(1));
  }
};

// Of the degree n in all lanes; a value that is not finite stays.
template <typename Polynomial>
TIERUP_INLINE Wide recurrence(Wide x, Wide n) {
  const double degree = n.v[0];
  if (!(degree >= 0 && degree < Polynomial::kMost + 1) || any(n != Wide(degree))) {
    return replaced(x, Mask<double>{x.bits() | -1},
                    [&](int i) { return Polynomial::kExact(x.v[i], n.v[i]); });
  }
  if (degree < 1) return Wide(1);
  Wide before(1);
  Wide now = Polynomial::first(x);
  Mask<double> goes_on{x.bits() | -1};
  for (int k = 1; k < static_cast<int>(degree); ++k) {
    const Wide after = select(goes_on, Polynomial::next(x, Wide(k), now, before), now);
    before = now;
    now = after;
    goes_on = goes_on & (abs(now) < Wide(INFINITY));
  }
  return now;
}

template <typename Polynomial>
struct SpecialPolynomial {
  static constexpr size_t kArity = 2;
  static TIERUP_INLINE Wide apply(Wide x, Wide n) { return recurrence<Polynomial>(x, n); }
  static TIERUP_INLINE Vec<float> apply(Vec<float> x, Vec<float> n) {
    return through_double(
        x, n, [](Wide a, Wide b) TIERUP_LAMBDA { return recurrence<Polynomial>(a, b); });
  }
};

}  // namespace tierup::kernels::TIERUP_SIMD
