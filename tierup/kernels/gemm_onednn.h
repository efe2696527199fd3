// f32 matrix products by oneDNN.
#pragma once

#include "tierup/kernels/gemm.h"

namespace tierup::kernels {

// For dtype f32 and operands of which is_fast_matrix() holds. Same meaning as gemm().
void gemm_onednn(const GemmProblem& problem);

}  // namespace tierup::kernels
