// Resampling of lines for one instruction set; see resample_lines_body.h.
#include "tierup/kernels/vision/resample_lines_body.h"

namespace tierup::kernels {

ResampleLoops resample_loops_avx512() { return kResampleLoops; }

}  // namespace tierup::kernels
