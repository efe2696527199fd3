// Products of narrow floats by those of floats, to which whole matrices are widened first.
#pragma once

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

// Of f16 or bf16: one matrix that lies in one piece times dense rows, and C only written.
bool is_by_floats(const GemmProblem& p);
// For those; rounded once, from the sums.
void gemm_by_floats(const GemmProblem& p);

}  // namespace tierup::kernels
