// f32 matrix products by oneDNN.
#pragma once

#include "tierup/kernels/gemm.h"

namespace tierup::kernels {

// For dtype f32 and operands of which is_fast_matrix() holds. Same meaning as gemm().
void gemm_onednn(const GemmProblem& problem);

// One plain product C = alpha * A op(B) + beta * C of row-major matrices with leading dimensions,
// without a primitive to look up: for inner blocks. Runs in the calling thread inside a parallel
// region.
void sgemm(bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
           int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

}  // namespace tierup::kernels
