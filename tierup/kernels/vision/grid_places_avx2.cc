// Samples of images by vectors for AVX2; see grid_places_body.h.
#include "tierup/kernels/vision/grid_places_body.h"

namespace tierup::kernels {

GridLoopsByMode grid_loops_avx2() { return TIERUP_SIMD::kLoopsByMode; }

}  // namespace tierup::kernels
