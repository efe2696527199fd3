// Gradients of scans (scan.h).
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// tierup::cumprod_backward: the gradient of real running products along a dimension, by that of the
// products: of each factor the sum of what follows, divided by it; of a line's first zero the
// products without it, and nothing behind. Computed in double.
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim);

}  // namespace tierup::kernels
