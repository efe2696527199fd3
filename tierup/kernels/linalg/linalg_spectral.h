// Orthogonal and spectral factorisations: QR, eigenvalues, singular values, least squares.
//
// All operators take batches of matrices of f32, f64, c64 or c128. The sign or phase of vectors is
// LAPACK's choice.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tierup/kernels/linalg/linalg_factor.h"

namespace tierup::kernels {

// aten::geqrf: (R above Householder vectors, tau).
TwoTensors geqrf(const Tensor& self);
// aten::linalg_householder_product, aten::orgqr: the first columns of Q.
Tensor householder_product(const Tensor& input, const Tensor& tau);
// aten::ormqr: Q, Q^T or Q^H times a matrix, from either side.
Tensor ormqr(const Tensor& input, const Tensor& tau, const Tensor& other, bool left,
             bool transpose);
// aten::linalg_qr: mode "reduced", "complete" or "r" (Q is empty then); aten::qr.
TwoTensors qr(const Tensor& a, std::string_view mode);
TwoTensors qr_legacy(const Tensor& self, bool some);

// aten::_linalg_eigh: (eigenvalues in ascending order, vectors); UPLO "L" or "U" tells the
// triangle.
TwoTensors eigh_full(const Tensor& a, std::string_view uplo, bool compute_vectors);
TwoTensors eigh(const Tensor& a, std::string_view uplo);
Tensor eigvalsh(const Tensor& a, std::string_view uplo);
// aten::linalg_eig: complex eigenvalues and vectors of any square matrix; aten::linalg_eigvals.
TwoTensors eig(const Tensor& self);
Tensor eigvals(const Tensor& self);

// aten::_linalg_svd: (U, S, Vh); U and Vh are empty without compute_uv. aten::linalg_svd.
ThreeTensors svd_full(const Tensor& a, bool full_matrices, bool compute_uv,
                      std::optional<std::string_view> driver);
ThreeTensors svd(const Tensor& a, bool full_matrices, std::optional<std::string_view> driver);
Tensor svdvals(const Tensor& a, std::optional<std::string_view> driver);
// aten::svd: (U, S, V); without compute_uv, zeros.
ThreeTensors svd_legacy(const Tensor& self, bool some, bool compute_uv);

// aten::linalg_lstsq: (solution, residuals, rank, singular values); driver "gelsy" (default),
// "gels", "gelsd" or "gelss".
FourTensors lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                  std::optional<std::string_view> driver);

}  // namespace tierup::kernels
