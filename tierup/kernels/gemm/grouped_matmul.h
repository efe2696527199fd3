// Products of the parts of a matrix with matrices of their own: the experts of a mixture.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::_grouped_mm. `offs` (int32, [G]) holds where each part ends:
//   [M, K] x [G, K, N]: parts of the rows, to [M, N]      [G, M, K] x [K, N]: of the columns of
//   mat2, to [M, N]      [M, K] x [K, N]: of the depth, to [G, M, N]      3-d x 3-d: bmm, no offs.
// What no part covers is 0. Throws kInvalidArgument for shapes or offsets that do not fit.
Tensor grouped_mm(const Tensor& self, const Tensor& mat2, const Tensor& offs, const Tensor& bias,
                  std::optional<ScalarType> out_dtype);
// transformers::grouped_mm_fallback: the first form.
Tensor grouped_mm_rows(const Tensor& input, const Tensor& weight, const Tensor& offs);

}  // namespace tierup::kernels
