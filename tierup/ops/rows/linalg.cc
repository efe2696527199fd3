// Linear algebra: factorisations, and what they solve.
#include "tierup/kernels/linalg/cofactors.h"
#include "tierup/kernels/linalg/linalg_factor.h"
#include "tierup/kernels/linalg/linalg_spectral.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

constexpr OpRow kRows[] = {
    {"aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> "
     "(Tensor L, Tensor info)",
     boxed<&k::cholesky_ex>},
    {"aten::linalg_cholesky_ex.L(Tensor self, *, bool upper=False, bool check_errors=False, "
     "Tensor(a!) L, Tensor(b!) info) -> (Tensor(a!) L, Tensor(b!) info)",
     out_variant<&k::cholesky_ex>},
    {"aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", boxed<&k::cholesky>},
    {"aten::linalg_cholesky.out(Tensor self, *, bool upper=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cholesky>},
    {"aten::cholesky(Tensor self, bool upper=False) -> Tensor", boxed<&k::cholesky>},
    {"aten::cholesky.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cholesky>},
    {"aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
     boxed<&k::cholesky_inverse>},
    {"aten::cholesky_inverse.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cholesky_inverse>},
    {"aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
     boxed<&k::cholesky_solve>},
    {"aten::cholesky_solve.out(Tensor self, Tensor input2, bool upper=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::cholesky_solve>},
    {"aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor",
     boxed<&k::cholesky_solve>},
    {"aten::_cholesky_solve_helper.out(Tensor self, Tensor A, bool upper, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::cholesky_solve>},
    {"aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor "
     "LU, Tensor pivots, Tensor info)",
     boxed<&k::lu_factor_ex>},
    {"aten::linalg_lu_factor_ex.out(Tensor A, *, bool pivot=True, bool check_errors=False, "
     "Tensor(a!) LU, Tensor(b!) pivots, Tensor(c!) info) -> (Tensor(a!) LU, Tensor(b!) pivots, "
     "Tensor(c!) info)",
     out_variant<&k::lu_factor_ex>},
    {"aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
     boxed<&k::lu_factor>},
    {"aten::linalg_lu_factor.out(Tensor A, *, bool pivot=True, Tensor(a!) LU, Tensor(b!) pivots) "
     "-> (Tensor(a!) LU, Tensor(b!) pivots)",
     out_variant<&k::lu_factor>},
    {"aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, "
     "Tensor pivots, Tensor info)",
     boxed<&k::lu_with_info>},
    {"aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
     "unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
     boxed<&k::lu_unpack>},
    {"aten::lu_unpack.out(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
     "unpack_pivots=True, *, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) -> (Tensor(a!) P, "
     "Tensor(b!) L, Tensor(c!) U)",
     out_variant<&k::lu_unpack>},
    {"aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
     boxed<&k::lu>},
    {"aten::linalg_lu.out(Tensor A, *, bool pivot=True, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) "
     "-> (Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)",
     out_variant<&k::lu>},
    {"aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
     "adjoint=False) -> Tensor",
     boxed<&k::lu_solve>},
    {"aten::linalg_lu_solve.out(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
     "adjoint=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::lu_solve>},
    {"aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
     boxed<&k::lu_solve_legacy>},
    {"aten::lu_solve.out(Tensor self, Tensor LU_data, Tensor LU_pivots, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::lu_solve_legacy>},
    {"aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
     "(Tensor result, Tensor LU, Tensor pivots, Tensor info)",
     boxed<&k::solve_full>},
    {"aten::_linalg_solve_ex.result(Tensor A, Tensor B, *, bool left=True, bool "
     "check_errors=False, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info) -> "
     "(Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info)",
     out_variant<&k::solve_full>},
    {"aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
     "(Tensor result, Tensor info)",
     boxed<&k::solve_ex>},
    {"aten::linalg_solve_ex.out(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, "
     "Tensor(a!) result, Tensor(b!) info) -> (Tensor(a!) result, Tensor(b!) info)",
     out_variant<&k::solve_ex>},
    {"aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", boxed<&k::solve>},
    {"aten::linalg_solve.out(Tensor A, Tensor B, *, bool left=True, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::solve>},
    {"aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
     boxed<&k::inverse_ex>},
    {"aten::linalg_inv_ex.inverse(Tensor A, *, bool check_errors=False, Tensor(a!) inverse, "
     "Tensor(b!) info) -> (Tensor(a!) inverse, Tensor(b!) info)",
     out_variant<&k::inverse_ex>},
    {"aten::linalg_inv(Tensor A) -> Tensor", boxed<&k::inverse>},
    {"aten::linalg_inv.out(Tensor A, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::inverse>},
    {"aten::inverse(Tensor self) -> Tensor", boxed<&k::inverse>},
    {"aten::inverse.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::inverse>},
    {"aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
     boxed<&k::det_full>},
    {"aten::_linalg_det.result(Tensor A, *, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots) "
     "-> (Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots)",
     out_variant<&k::det_full>},
    {"tierup::cofactors(Tensor A) -> Tensor", boxed<&kernels::cofactors>},
    {"aten::linalg_det(Tensor A) -> Tensor", boxed<&k::det>},
    {"aten::linalg_det.out(Tensor A, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::det>},
    {"aten::det(Tensor self) -> Tensor", boxed<&k::det>},
    {"aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
     boxed<&k::slogdet_full>},
    {"aten::_linalg_slogdet.sign(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) "
     "LU, Tensor(d!) pivots) -> (Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) LU, Tensor(d!) "
     "pivots)",
     out_variant<&k::slogdet_full>},
    {"aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", boxed<&k::slogdet>},
    {"aten::linalg_slogdet.out(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet) -> (Tensor(a!) "
     "sign, Tensor(b!) logabsdet)",
     out_variant<&k::slogdet>},
    {"aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", boxed<&k::slogdet>},
    {"aten::slogdet.out(Tensor self, *, Tensor(a!) sign, Tensor(b!) logabsdet) -> (Tensor(a!) "
     "sign, Tensor(b!) logabsdet)",
     out_variant<&k::slogdet>},
    {"aten::logdet(Tensor self) -> Tensor", boxed<&k::logdet>},
    {"aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
     "unitriangular=False) -> Tensor",
     boxed<&k::solve_triangular>},
    {"aten::linalg_solve_triangular.out(Tensor self, Tensor B, *, bool upper, bool left=True, bool "
     "unitriangular=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::solve_triangular>},
    {"aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
     "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
     boxed<&k::triangular_solve>},
    {"aten::triangular_solve.X(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
     "unitriangular=False, *, Tensor(a!) X, Tensor(b!) M) -> (Tensor(a!) solution, Tensor(b!) "
     "cloned_coefficient)",
     out_variant<&k::triangular_solve>},
    {"aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> "
     "(Tensor LD, Tensor pivots, Tensor info)",
     boxed<&k::ldl_factor_ex>},
    {"aten::linalg_ldl_factor_ex.out(Tensor self, *, bool hermitian=False, bool "
     "check_errors=False, Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) info) -> (Tensor(a!) LD, "
     "Tensor(b!) pivots, Tensor(c!) info)",
     out_variant<&k::ldl_factor_ex>},
    {"aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
     boxed<&k::ldl_factor>},
    {"aten::linalg_ldl_factor.out(Tensor self, *, bool hermitian=False, Tensor(a!) LD, Tensor(b!) "
     "pivots) -> (Tensor(a!) LD, Tensor(b!) pivots)",
     out_variant<&k::ldl_factor>},
    {"aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> "
     "Tensor",
     boxed<&k::ldl_solve>},
    {"aten::linalg_ldl_solve.out(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::ldl_solve>},
    {"aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
     boxed<&k::check_linalg_errors>},
    {"aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", boxed<&k::geqrf>},
    {"aten::geqrf.a(Tensor self, *, Tensor(a!) a, Tensor(b!) tau) -> (Tensor(a!) a, Tensor(b!) "
     "tau)",
     out_variant<&k::geqrf>},
    {"aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
     boxed<&k::householder_product>},
    {"aten::linalg_householder_product.out(Tensor input, Tensor tau, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::householder_product>},
    {"aten::orgqr(Tensor self, Tensor input2) -> Tensor", boxed<&k::householder_product>},
    {"aten::orgqr.out(Tensor self, Tensor input2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::householder_product>},
    {"aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) "
     "-> Tensor",
     boxed<&k::ormqr>},
    {"aten::ormqr.out(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
     "transpose=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::ormqr>},
    {"aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", boxed<&k::qr>},
    {"aten::linalg_qr.out(Tensor A, str mode=\"reduced\", *, Tensor(a!) Q, Tensor(b!) R) -> "
     "(Tensor(a!) Q, Tensor(b!) R)",
     out_variant<&k::qr>},
    {"aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", boxed<&k::qr_legacy>},
    {"aten::qr.Q(Tensor self, bool some=True, *, Tensor(a!) Q, Tensor(b!) R) -> (Tensor(a!) Q, "
     "Tensor(b!) R)",
     out_variant<&k::qr_legacy>},
    {"aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, "
     "Tensor eigenvectors)",
     boxed<&k::eigh_full>},
    {"aten::_linalg_eigh.eigenvalues(Tensor A, str UPLO=\"L\", bool compute_v=True, *, Tensor(a!) "
     "eigenvalues, Tensor(b!) eigenvectors) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)",
     out_variant<&k::eigh_full>},
    {"aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
     boxed<&k::eigh>},
    {"aten::linalg_eigh.eigvals(Tensor self, str UPLO=\"L\", *, Tensor(a!) eigvals, Tensor(b!) "
     "eigvecs) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)",
     out_variant<&k::eigh>},
    {"aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", boxed<&k::eigvalsh>},
    {"aten::linalg_eigvalsh.out(Tensor self, str UPLO=\"L\", *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::eigvalsh>},
    {"aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", boxed<&k::eig>},
    {"aten::linalg_eig.out(Tensor self, *, Tensor(a!) eigenvalues, Tensor(b!) eigenvectors) -> "
     "(Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)",
     out_variant<&k::eig>},
    {"aten::linalg_eigvals(Tensor self) -> Tensor", boxed<&k::eigvals>},
    {"aten::linalg_eigvals.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::eigvals>},
    {"aten::_linalg_eigvals(Tensor self) -> Tensor", boxed<&k::eigvals>},
    {"aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
     "driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     boxed<&k::svd_full>},
    {"aten::_linalg_svd.U(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
     "driver=None, Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh) -> (Tensor(a!) U, Tensor(b!) S, "
     "Tensor(c!) Vh)",
     out_variant<&k::svd_full>},
    {"aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, "
     "Tensor S, Tensor Vh)",
     boxed<&k::svd>},
    {"aten::linalg_svd.U(Tensor A, bool full_matrices=True, *, str? driver=None, Tensor(a!) U, "
     "Tensor(b!) S, Tensor(c!) Vh) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh)",
     out_variant<&k::svd>},
    {"aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", boxed<&k::svdvals>},
    {"aten::linalg_svdvals.out(Tensor A, *, str? driver=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::svdvals>},
    {"aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor "
     "V)",
     boxed<&k::svd_legacy>},
    {"aten::svd.U(Tensor self, bool some=True, bool compute_uv=True, *, Tensor(a!) U, Tensor(b!) "
     "S, Tensor(c!) V) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) V)",
     out_variant<&k::svd_legacy>},
    {"aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor "
     "solution, Tensor residuals, Tensor rank, Tensor singular_values)",
     boxed<&k::lstsq>},
    {"aten::linalg_lstsq.out(Tensor self, Tensor b, float? rcond=None, *, str? driver=None, "
     "Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values) -> "
     "(Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values)",
     out_variant<&k::lstsq>},
};

}  // namespace

std::span<const OpRow> linalg_rows() { return kRows; }

}  // namespace tierup::ops
