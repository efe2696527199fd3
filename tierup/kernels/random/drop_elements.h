// Dropout inside of fused layers: attention weights, outputs between recurrent layers.
#pragma once

#include "tierup/kernels/random/generator.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// A copy of an f32 or f64 tensor with each element zero with probability p, the others divided by 1
// - p. Throws kInvalidArgument for p outside of [0, 1].
Tensor drop_elements(const Tensor& tensor, double p, Generator& generator);

}  // namespace tierup::kernels
