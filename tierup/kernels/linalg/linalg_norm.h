// Matrix norms and what singular values tell: rank, condition, pseudo-inverse.
#pragma once

#include <optional>
#include <string_view>

#include "tierup/kernels/reduce/reduce_plan.h"

namespace tierup::kernels {

// aten::linalg_matrix_norm: ord 1, -1, 2, -2, inf, -inf, or "fro", "nuc".
Tensor matrix_norm(const Tensor& self, const Scalar& ord, const IntVector& dims, bool keepdim,
                   std::optional<ScalarType> dtype);
Tensor matrix_norm_named(const Tensor& self, std::string_view ord, const IntVector& dims,
                         bool keepdim, std::optional<ScalarType> dtype);
// aten::linalg_norm: a vector norm of one dimension or of everything, a matrix norm of two.
Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, const ReduceDims& dims,
                   bool keepdim, std::optional<ScalarType> dtype);
Tensor linalg_norm_named(const Tensor& self, std::string_view ord, const ReduceDims& dims,
                         bool keepdim, std::optional<ScalarType> dtype);
// aten::nuclear_norm: the sum of singular values.
Tensor nuclear_norm(const Tensor& self, const IntVector& dims, bool keepdim);

// aten::linalg_matrix_rank: singular values (or absolute eigenvalues) above max(atol, rtol *
// largest). By default rtol is eps * max(m, n), or 0 if atol is given and positive.
Tensor matrix_rank(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian);
// aten::linalg_pinv, by the same tolerances.
Tensor pinv(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian);
// aten::linalg_cond: p as in matrix_norm; 2 by default.
Tensor cond(const Tensor& self, const std::optional<Scalar>& p);
Tensor cond_named(const Tensor& self, std::string_view p);

}  // namespace tierup::kernels
