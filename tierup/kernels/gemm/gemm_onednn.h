// f32 matrix products by oneDNN.
#pragma once

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

// For dtype f32 and operands of which is_fast_matrix() holds. Same meaning as gemm().
void gemm_onednn(const GemmProblem& problem);

}  // namespace tierup::kernels
