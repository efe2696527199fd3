// Pooling of lines for one instruction set; see pool_lines_body.h.
#include "tierup/kernels/pooling/pool_lines_body.h"

namespace tierup::kernels {

PoolKernels pool_kernels_avx512() { return kPoolKernels; }

}  // namespace tierup::kernels
