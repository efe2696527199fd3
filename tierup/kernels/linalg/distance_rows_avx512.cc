// Distances for one instruction set; see distance_rows_body.h.
#include "tierup/kernels/linalg/distance_rows_body.h"

namespace tierup::kernels {

void distance_rows_avx512(const DistanceRows& call) { TIERUP_SIMD::all_distances(call); }

}  // namespace tierup::kernels
