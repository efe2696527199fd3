// The largest elements of windows for one instruction set; see window_maxima_body.h.
#include "tierup/kernels/pooling/window_maxima_body.h"

namespace tierup::kernels {

void window_maxima_avx512(const float* plane, int64_t readable, const int32_t* corners,
                          int64_t count, std::span<const int32_t> taps, float* best,
                          int64_t* places) {
  find_window_maxima(plane, readable, corners, count, taps, best, places);
}

}  // namespace tierup::kernels
