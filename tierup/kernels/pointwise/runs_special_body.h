// Vector runs of special functions; compiled once for each instruction set.
#pragma once

#include "tierup/kernels/pointwise/gamma_lanes.h"
#include "tierup/kernels/pointwise/polynomial_lanes.h"
#include "tierup/kernels/pointwise/vector_run.h"
#include "tierup/kernels/simd/simd_bessel.h"

namespace tierup::kernels::TIERUP_SIMD {

// Not bodies of scalar_bodies_math.h: compiled groups have no lanes that are looked for first, and
// leave these operators to tier 0.
#define TIERUP_SPECIAL_BODY(name, function) \
  struct Special##name {                    \
    static constexpr size_t kArity = 1;     \
    template <typename V>                   \
    static TIERUP_INLINE V apply(V x) {     \
      return function(x);                   \
    }                                       \
  }
TIERUP_SPECIAL_BODY(Lgamma, lgamma);
TIERUP_SPECIAL_BODY(Erfinv, erfinv);
TIERUP_SPECIAL_BODY(Ndtr, ndtr);
TIERUP_SPECIAL_BODY(Ndtri, ndtri);
TIERUP_SPECIAL_BODY(Entr, entr);
TIERUP_SPECIAL_BODY(I0, i0);
TIERUP_SPECIAL_BODY(I0e, i0e);
TIERUP_SPECIAL_BODY(I1, i1);
TIERUP_SPECIAL_BODY(I1e, i1e);
TIERUP_SPECIAL_BODY(BesselJ0, bessel_j0);
TIERUP_SPECIAL_BODY(BesselJ1, bessel_j1);
TIERUP_SPECIAL_BODY(BesselY0, bessel_y0);
TIERUP_SPECIAL_BODY(BesselY1, bessel_y1);
TIERUP_SPECIAL_BODY(BesselK0, bessel_k0);
TIERUP_SPECIAL_BODY(BesselK1, bessel_k1);
TIERUP_SPECIAL_BODY(ScaledBesselK0, scaled_bessel_k0);
TIERUP_SPECIAL_BODY(ScaledBesselK1, scaled_bessel_k1);
TIERUP_SPECIAL_BODY(SphericalBesselJ0, spherical_bessel_j0);
TIERUP_SPECIAL_BODY(AiryAi, airy_ai);
TIERUP_SPECIAL_BODY(Digamma, digamma);
TIERUP_SPECIAL_BODY(Erfc, erfc);
TIERUP_SPECIAL_BODY(Erfcx, erfcx);
TIERUP_SPECIAL_BODY(LogNdtr, log_ndtr);
#undef TIERUP_SPECIAL_BODY

// Of a real number: 0 or pi.
struct SpecialAngle {
  static constexpr size_t kArity = 1;
  template <typename V>
  static TIERUP_INLINE V apply(V x) {
    return select(x != x, x, select(x < V(0), V(M_PI), V(0)));
  }
};

struct SpecialSignbit {
  static constexpr size_t kArity = 1;
  template <typename V>
  static TIERUP_INLINE auto apply(V x) {
    return copysign(V(1), x) < V(0);
  }
};

#define TIERUP_SPECIAL_BODY(name, function)  \
  struct Special##name {                     \
    static constexpr size_t kArity = 2;      \
    template <typename V>                    \
    static TIERUP_INLINE V apply(V a, V b) { \
      return function(a, b);                 \
    }                                        \
  }
TIERUP_SPECIAL_BODY(Nextafter, nextafter);
TIERUP_SPECIAL_BODY(Polygamma, polygamma);
TIERUP_SPECIAL_BODY(Igamma, igamma);
TIERUP_SPECIAL_BODY(Igammac, igammac);
#undef TIERUP_SPECIAL_BODY

void add_bessel_runs(RunTable& table) {
  set_real<SpecialI0>(table, Body::kI0);
  set_real<SpecialI0e>(table, Body::kI0e);
  set_real<SpecialI1>(table, Body::kI1);
  set_real<SpecialI1e>(table, Body::kI1e);
  set_real<SpecialBesselJ0>(table, Body::kBesselJ0);
  set_real<SpecialBesselJ1>(table, Body::kBesselJ1);
  set_real<SpecialBesselY0>(table, Body::kBesselY0);
  set_real<SpecialBesselY1>(table, Body::kBesselY1);
  set_real<SpecialBesselK0>(table, Body::kBesselK0);
  set_real<SpecialBesselK1>(table, Body::kBesselK1);
  set_real<SpecialScaledBesselK0>(table, Body::kScaledBesselK0);
  set_real<SpecialScaledBesselK1>(table, Body::kScaledBesselK1);
  set_real<SpecialSphericalBesselJ0>(table, Body::kSphericalBesselJ0);
  set_real<SpecialAiryAi>(table, Body::kAiryAi);
}

void add_polynomial_runs(RunTable& table) {
  set_real<SpecialPolynomial<ChebyshevT>>(table, Body::kChebyshevT);
  set_real<SpecialPolynomial<ChebyshevU>>(table, Body::kChebyshevU);
  set_real<SpecialPolynomial<ChebyshevV>>(table, Body::kChebyshevV);
  set_real<SpecialPolynomial<ChebyshevW>>(table, Body::kChebyshevW);
  set_real<SpecialPolynomial<HermiteH>>(table, Body::kHermiteH);
  set_real<SpecialPolynomial<HermiteHe>>(table, Body::kHermiteHe);
  set_real<SpecialPolynomial<Laguerre>>(table, Body::kLaguerre);
  set_real<SpecialPolynomial<Legendre>>(table, Body::kLegendre);
}

void add_special_vector_runs(RunTable& table) {
  set_real<SpecialLgamma>(table, Body::kLgamma);
  set_real<SpecialDigamma>(table, Body::kDigamma);
  set_real<SpecialPolygamma>(table, Body::kPolygamma);
  set_real<SpecialIgamma>(table, Body::kIgamma);
  set_real<SpecialIgammac>(table, Body::kIgammac);
  set_real<SpecialErfinv>(table, Body::kErfinv);
  set_run<SpecialErfc, double, double>(table, Body::kErfc);
  set_real<SpecialErfcx>(table, Body::kErfcx);
  set_real<SpecialNextafter>(table, Body::kNextafter);
  set_real<SpecialNdtr>(table, Body::kNdtr);
  set_real<SpecialLogNdtr>(table, Body::kLogNdtr);
  set_float<SpecialNdtri>(table, Body::kNdtri);
  set_real<SpecialEntr>(table, Body::kEntr);
  set_real<SpecialAngle>(table, Body::kAngle);
  set_real_predicate<SpecialSignbit>(table, Body::kSignbit);
  add_bessel_runs(table);
  add_polynomial_runs(table);
}

}  // namespace tierup::kernels::TIERUP_SIMD
