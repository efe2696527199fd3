// The matrix of cofactors.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// tierup::cofactors: of square matrices [*, n, n] the derivatives of the determinant by each
// element, for singular matrices, too: of up to three rows by the formula, of more from singular
// values, det U det Vh U diag(products of the other singular values) Vh, conjugated for complex
// ones.
Tensor cofactors(const Tensor& a);

}  // namespace tierup::kernels
