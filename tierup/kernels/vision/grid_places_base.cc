// Samples of images by vectors without vector extensions beyond the platform's own, and the choice
// of a variant.
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/kernels/vision/grid_places_body.h"

namespace tierup::kernels {

GridLoopsByMode grid_loops_base() { return TIERUP_SIMD::kLoopsByMode; }

GridLoopsByMode grid_loops() {
  return TIERUP_VARIANT(instruction_set(), grid_loops_base, grid_loops_avx2, grid_loops_avx512)();
}

}  // namespace tierup::kernels
