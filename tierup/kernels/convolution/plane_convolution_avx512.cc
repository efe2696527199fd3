// Convolution of planes for one instruction set; see plane_convolution_body.h.
#include "tierup/kernels/convolution/plane_convolution_body.h"

namespace tierup::kernels {

PlaneKernels plane_kernels_avx512() { return kPlaneKernels; }

}  // namespace tierup::kernels
