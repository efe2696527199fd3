// Distances for one instruction set; see distance_rows_body.h.
#include "tierup/kernels/linalg/distance_rows_body.h"

namespace tierup::kernels {

void distance_rows_avx2(const DistanceRows<float>& call) { TIERUP_SIMD::all_distances(call); }
void distance_rows_avx2(const DistanceRows<double>& call) { TIERUP_SIMD::all_distances(call); }

}  // namespace tierup::kernels
