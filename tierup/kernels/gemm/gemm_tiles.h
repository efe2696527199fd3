// Products of floats by tiles that registers hold, of a matrix packed slice by slice; see
// gemm_tiles_body.h.
#pragma once

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

// Whether a product of f32 beyond a few numbers is for gemm_tiles() rather than for oneDNN: of
// factors one, where vectors have eight lanes (decision 0019).
bool is_for_tiles(const GemmProblem& p);

// C = A B, + bias or + C, of f32 and some depth, for any strides: columns or rows in parallel.
void gemm_tiles(const GemmProblem& p);

}  // namespace tierup::kernels
