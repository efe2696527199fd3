// Linear algebra built on factorisations: norms, ranks, inverses, functions of matrices.
#include "tierup/kernels/linalg/linalg_norm.h"
#include "tierup/kernels/linalg/matrix_function.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

using Tolerance = std::optional<double>;

Tensor number(double value) { return Tensor::scalar(Scalar(value)); }
Tensor number(Tolerance value) { return value ? number(*value) : Tensor(); }

// Tolerances as numbers instead of tensors.
template <auto Fn>
Tensor by_numbers(const Tensor& self, Tolerance atol, Tolerance rtol, bool hermitian) {
  return Fn(self, number(atol), number(rtol), hermitian);
}
Tensor matrix_rank_number(const Tensor& self, double tol, bool hermitian) {
  return k::matrix_rank(self, number(tol), number(0.0), hermitian);
}
Tensor matrix_rank_tensor(const Tensor& self, const Tensor& tol, bool hermitian) {
  return k::matrix_rank(self, tol, number(0.0), hermitian);
}
Tensor pinv_number(const Tensor& self, double rcond, bool hermitian) {
  return k::pinv(self, number(0.0), number(rcond), hermitian);
}
Tensor pinv_tensor(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return k::pinv(self, number(0.0), rcond, hermitian);
}
Tensor pinverse(const Tensor& self, double rcond) { return pinv_number(self, rcond, false); }

Tensor nuclear_norm(const Tensor& self, bool keepdim) {
  return k::nuclear_norm(self, {0, 1}, keepdim);
}

constexpr OpRow kRows[] = {
    {"aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     boxed<&k::matrix_norm>},
    {"aten::linalg_matrix_norm.out(Tensor self, Scalar ord, int[] dim=[-2, -1], bool "
     "keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::matrix_norm>},
    {"aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
     "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     boxed<&k::matrix_norm_named>},
    {"aten::linalg_matrix_norm.str_ord_out(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
     "keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::matrix_norm_named>},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     boxed<&k::linalg_norm>},
    {"aten::linalg_norm.out(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, "
     "*, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::linalg_norm>},
    {"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     boxed<&k::linalg_norm_named>},
    {"aten::linalg_norm.ord_str_out(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::linalg_norm_named>},
    {"aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", boxed<&nuclear_norm>},
    {"aten::nuclear_norm.out(Tensor self, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&nuclear_norm>},
    {"aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
     boxed<&k::nuclear_norm>},
    {"aten::nuclear_norm.dim_out(Tensor self, int[2] dim, bool keepdim=False, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&k::nuclear_norm>},
    {"aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
     "rtol=None, bool hermitian=False) -> Tensor",
     boxed<&k::matrix_rank>},
    {"aten::linalg_matrix_rank.atol_rtol_tensor_out(Tensor input, *, Tensor? atol=None, Tensor? "
     "rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::matrix_rank>},
    {"aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
     "bool hermitian=False) -> Tensor",
     boxed<&by_numbers<&k::matrix_rank>>},
    {"aten::linalg_matrix_rank.atol_rtol_float_out(Tensor self, *, float? atol=None, float? "
     "rtol=None, bool hermitian=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&by_numbers<&k::matrix_rank>>},
    {"aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
     boxed<&matrix_rank_number>},
    {"aten::linalg_matrix_rank.out(Tensor self, float tol, bool hermitian=False, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     out_variant<&matrix_rank_number>},
    {"aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> "
     "Tensor",
     boxed<&matrix_rank_tensor>},
    {"aten::linalg_matrix_rank.out_tol_tensor(Tensor input, Tensor tol, bool hermitian=False, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&matrix_rank_tensor>},
    {"aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
     "bool hermitian=False) -> Tensor",
     boxed<&k::pinv>},
    {"aten::linalg_pinv.atol_rtol_tensor_out(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
     "bool hermitian=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::pinv>},
    {"aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool "
     "hermitian=False) -> Tensor",
     boxed<&by_numbers<&k::pinv>>},
    {"aten::linalg_pinv.atol_rtol_float_out(Tensor self, *, float? atol=None, float? rtol=None, "
     "bool hermitian=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&by_numbers<&k::pinv>>},
    {"aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
     boxed<&pinv_number>},
    {"aten::linalg_pinv.out(Tensor self, float rcond, bool hermitian=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&pinv_number>},
    {"aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
     boxed<&pinv_tensor>},
    {"aten::linalg_pinv.out_rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&pinv_tensor>},
    {"aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", boxed<&pinverse>},
    {"aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", boxed<&k::cond>},
    {"aten::linalg_cond.out(Tensor self, Scalar? p=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cond>},
    {"aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", boxed<&k::cond_named>},
    {"aten::linalg_cond.p_str_out(Tensor self, str p, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cond_named>},
    other_name("aten::linalg_matrix_power(Tensor self, int n) -> Tensor", "aten::matrix_power"),
    other_name("aten::linalg_matrix_power.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)",
               "aten::matrix_power.out"),
    {"aten::matrix_power(Tensor self, int n) -> Tensor", boxed<&k::matrix_power>},
    {"aten::matrix_power.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::matrix_power>},
    {"aten::linalg_matrix_sqrth(Tensor self) -> Tensor", boxed<&k::matrix_sqrth>},
    {"aten::linalg_matrix_sqrth.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::matrix_sqrth>},
    {"aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", boxed<&k::polar_factors>},
    {"aten::linalg_polar.out(Tensor A, *, Tensor(a!) U, Tensor(b!) H) -> (Tensor(a!) U, Tensor(b!) "
     "H)",
     out_variant<&k::polar_factors>},
    {"aten::linalg_matrix_exp(Tensor self) -> Tensor", boxed<&k::matrix_exp>},
    {"aten::linalg_matrix_exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::matrix_exp>},
    {"aten::matrix_exp(Tensor self) -> Tensor", boxed<&k::matrix_exp>},
    {"aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", boxed<&k::tensorinv>},
    {"aten::linalg_tensorinv.out(Tensor self, int ind=2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::tensorinv>},
    {"aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
     boxed<&k::tensorsolve>},
    {"aten::linalg_tensorsolve.out(Tensor self, Tensor other, int[]? dims=None, *, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&k::tensorsolve>},
    {"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
     boxed<&k::linalg_cross>},
    {"aten::linalg_cross.out(Tensor self, Tensor other, *, int dim=-1, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::linalg_cross>},
    {"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", boxed<&k::cross>},
    {"aten::cross.out(Tensor self, Tensor other, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::cross>},
};

}  // namespace

std::span<const OpRow> linalg_composite_rows() { return kRows; }

}  // namespace tierup::ops
