// Copying the elements of a strided tensor into row-major order, for those who cannot call kernels.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup {

// Writes all elements as they are stored (lazy bits are not applied) to `out`, which has room for
// tensor.bytes().
void gather_elements(const Tensor& tensor, void* out);

}  // namespace tierup
