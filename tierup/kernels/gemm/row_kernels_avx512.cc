// The f32 row kernels for one instruction set; see row_kernels_body.h.
#include "tierup/kernels/gemm/row_kernels_body.h"

namespace tierup::kernels {

RowKernels<float> row_kernels_avx512() { return kRowKernels; }
NormalizeColumns normalize_columns_avx512() { return &columns_normalize; }

}  // namespace tierup::kernels
