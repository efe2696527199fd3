// Sums of products, as gradients of weights that are used more than once are.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// sum += a b in the memory of `sum`; bumps its version. False, and nothing is done, if these are
// not matrices of one dtype (f32 or f64) whose sizes fit, or the sum's columns do not lie side by
// side.
bool add_product(const Tensor& sum, const Tensor& a, const Tensor& b);

}  // namespace tierup::kernels
