// Triangles and diagonals of matrices.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::tril, aten::triu: zero above or below a diagonal of the last two dimensions.
Tensor tril(const Tensor& self, int64_t diagonal);
Tensor triu(const Tensor& self, int64_t diagonal);
// aten::tril_indices, aten::triu_indices: [2, count], of dtype int32 or int64.
Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, ScalarType dtype);
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, ScalarType dtype);
// aten::diag: a vector as a matrix, or the diagonal of a matrix (a copy).
Tensor diag(const Tensor& self, int64_t diagonal);
// aten::diag_embed: the last dimension becomes the diagonal of two new ones.
Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
// aten::diagflat: the flattened tensor as the diagonal of a matrix.
Tensor diagflat(const Tensor& self, int64_t offset);
// aten::fill_diagonal_: the main diagonal of all dimensions; with `wrap` it starts again below.
void fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap);

}  // namespace tierup::kernels
