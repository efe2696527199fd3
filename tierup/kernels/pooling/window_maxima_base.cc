// The largest elements of windows without vector extensions beyond the platform's own, and the
// choice of a variant.
#include "tierup/kernels/pooling/window_maxima_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

void window_maxima_base(const float* plane, int64_t readable, const int32_t* corners, int64_t count,
                        std::span<const int32_t> taps, float* best, int64_t* places) {
  find_window_maxima(plane, readable, corners, count, taps, best, places);
}

WindowMaxima window_maxima() {
  return TIERUP_VARIANT(instruction_set(), window_maxima_base, window_maxima_avx2,
                        window_maxima_avx512);
}

}  // namespace tierup::kernels
