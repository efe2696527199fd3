// Convolution by panels for one instruction set; see panel_convolution_body.h.
#include "tierup/kernels/net/panel_convolution_body.h"

namespace tierup::kernels::net {

ConvolutionPartFn convolution_part_avx512() { return &run_part; }

}  // namespace tierup::kernels::net
