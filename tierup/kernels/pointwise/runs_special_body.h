// Vector runs of special functions; compiled once for each instruction set.
#pragma once

#include "tierup/kernels/pointwise/vector_run.h"
#include "tierup/kernels/simd/simd_special.h"

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
#undef TIERUP_SPECIAL_BODY

struct SpecialNextafter {
  static constexpr size_t kArity = 2;
  template <typename V>
  static TIERUP_INLINE V apply(V a, V b) {
    return nextafter(a, b);
  }
};

void add_special_vector_runs(RunTable& table) {
  set_real<SpecialLgamma>(table, Body::kLgamma);
  set_real<SpecialErfinv>(table, Body::kErfinv);
  set_real<SpecialNextafter>(table, Body::kNextafter);
  set_float<SpecialNdtr>(table, Body::kNdtr);
  set_float<SpecialNdtri>(table, Body::kNdtri);
  set_real<SpecialEntr>(table, Body::kEntr);
  set_real<SpecialI0>(table, Body::kI0);
  set_real<SpecialI0e>(table, Body::kI0e);
  set_real<SpecialI1>(table, Body::kI1);
  set_real<SpecialI1e>(table, Body::kI1e);
}

}  // namespace tierup::kernels::TIERUP_SIMD
