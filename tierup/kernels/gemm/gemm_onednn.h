// Matrix products by oneDNN.
#pragma once

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

// For dtype f32, or bf16 where onednn_has_bfloat16(), and operands of which is_fast_matrix() holds.
// Same meaning as gemm().
void gemm_onednn(const GemmProblem& problem);

}  // namespace tierup::kernels
