// Triangular factorisations and what they solve: Cholesky, LU, Bunch-Kaufman.
//
// All operators take batches of matrices of f32, f64, c64 or c128. `info` is int32, one for each
// matrix; operators without it throw kInvalidArgument where the matrix is singular or indefinite.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

using TwoTensors = std::tuple<Tensor, Tensor>;
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;
using FourTensors = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// aten::linalg_cholesky_ex: (L, info), or L^H if `upper`, read from that triangle of self.
TwoTensors cholesky_ex(const Tensor& self, bool upper, bool check_errors);
// aten::linalg_cholesky, aten::cholesky.
Tensor cholesky(const Tensor& self, bool upper);
// aten::cholesky_inverse: the inverse of the matrix with this factor.
Tensor cholesky_inverse(const Tensor& self, bool upper);
// aten::cholesky_solve: X of A X = B with the factor of A; B comes first.
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper);

// aten::linalg_lu_factor_ex: (LU, pivots from 1 as int32, info).
ThreeTensors lu_factor_ex(const Tensor& a, bool pivot, bool check_errors);
TwoTensors lu_factor(const Tensor& a, bool pivot);
// aten::_lu_with_info.
ThreeTensors lu_with_info(const Tensor& a, bool pivot, bool check_errors);
// aten::lu_unpack: (P, L, U); what is not wanted is empty.
ThreeTensors lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data,
                       bool unpack_pivots);
// aten::linalg_lu: A = P L U.
ThreeTensors lu(const Tensor& a, bool pivot);
// aten::linalg_lu_solve: X of A X = B, or X A = B without `left`; with `adjoint` A^H for A.
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);
// aten::lu_solve: B comes first.
Tensor lu_solve_legacy(const Tensor& b, const Tensor& lu, const Tensor& pivots);

// aten::_linalg_solve_ex: (X, LU, pivots, info); B may be (a batch of) vectors.
FourTensors solve_full(const Tensor& a, const Tensor& b, bool left, bool check_errors);
TwoTensors solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors);
Tensor solve(const Tensor& a, const Tensor& b, bool left);
// aten::linalg_inv_ex: (inverse, info); aten::linalg_inv, aten::inverse.
TwoTensors inverse_ex(const Tensor& a, bool check_errors);
Tensor inverse(const Tensor& a);
// aten::_linalg_det: (determinant, LU, pivots); aten::linalg_det.
ThreeTensors det_full(const Tensor& a);
Tensor det(const Tensor& a);
// aten::_linalg_slogdet: (sign, log of the absolute value, LU, pivots); aten::linalg_slogdet.
FourTensors slogdet_full(const Tensor& a);
TwoTensors slogdet(const Tensor& a);
// aten::logdet: NaN for a negative determinant.
Tensor logdet(const Tensor& a);

// aten::linalg_solve_triangular: X of A X = B (or X A = B) with one triangle of A.
Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                        bool unitriangular);
// aten::triangular_solve: (solution, a copy of A); B comes first.
TwoTensors triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transpose,
                            bool unitriangular);

// aten::linalg_ldl_factor_ex: (LD, pivots, info) of a symmetric or Hermitian matrix's lower
// triangle.
ThreeTensors ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors);
TwoTensors ldl_factor(const Tensor& self, bool hermitian);
Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);

// aten::_linalg_check_errors.
void check_linalg_errors(const Tensor& info, std::string_view api_name, bool is_matrix);

}  // namespace tierup::kernels
