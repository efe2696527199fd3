// The matrix kernel for one instruction set; see gemm_block_body.h.
#include "tierup/kernels/gemm/gemm_block_body.h"

namespace tierup::kernels {

const GemmBlockKernels& gemm_block_base() { return kKernels; }

}  // namespace tierup::kernels
