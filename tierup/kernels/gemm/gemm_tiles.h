// Products of floats by tiles that registers hold, of a matrix packed slice by slice; see
// gemm_tiles_body.h.
#pragma once

#include "tierup/kernels/gemm/gemm.h"

namespace tierup::kernels {

// Whether a product of f32 beyond a few numbers is for gemm_tiles() rather than for oneDNN: of
// factors one, where vectors have eight lanes. There oneDNN generates all its kernels in the first
// product (12 ms), and is not faster; where they have sixteen it is by 15 percent, where they have
// four by 7, and its first product takes 1 ms (measured).
bool is_for_tiles(const GemmProblem& p);

// C = A B, + bias or + C, of f32, for any strides: columns or rows in parallel.
void gemm_tiles(const GemmProblem& p);

}  // namespace tierup::kernels
