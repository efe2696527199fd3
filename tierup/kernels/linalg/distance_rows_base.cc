// Distances for one instruction set; see distance_rows_body.h.
#include "tierup/kernels/linalg/distance_rows_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

void distance_rows_base(const DistanceRows& call) { TIERUP_SIMD::all_distances(call); }

void distance_rows(const DistanceRows& call) {
  TIERUP_VARIANT(instruction_set(), distance_rows_base, distance_rows_avx2, distance_rows_avx512)
  (call);
}

}  // namespace tierup::kernels
