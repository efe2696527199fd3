// Functions of matrices: powers, exponential, inverses and systems of tensors, cross products.
#pragma once

#include <optional>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::linalg_matrix_power: a negative power inverts first.
Tensor matrix_power(const Tensor& self, int64_t n);
// aten::linalg_matrix_exp.
Tensor matrix_exp(const Tensor& self);
// aten::linalg_matrix_sqrth: the square root of a Hermitian matrix, of which the lower triangle is
// read; negative eigenvalues count as 0.
Tensor matrix_sqrth(const Tensor& self);
// aten::linalg_polar: (U with orthonormal columns, Hermitian H) with A = U H.
std::tuple<Tensor, Tensor> polar_factors(const Tensor& a);
// aten::linalg_tensorinv, aten::linalg_tensorsolve.
Tensor tensorinv(const Tensor& self, int64_t ind);
Tensor tensorsolve(const Tensor& self, const Tensor& other, const std::optional<IntVector>& dims);
// aten::linalg_cross: of vectors of three elements along dim; both broadcast. aten::cross without
// dim takes the first dimension of size 3.
Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim);
Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim);

}  // namespace tierup::kernels
