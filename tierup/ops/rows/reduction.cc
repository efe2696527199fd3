// Reductions: sums, extrema, moments, norms and order statistics over dimensions.
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/reduce/order_statistics.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/ops/shapes/shape_functions.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"
#include "tierup/ops/table/variants.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// The overloads without dimensions, and those with other spellings of the same arguments.
Tensor sum_all(const Tensor& self, std::optional<ScalarType> dtype) {
  return k::sum(self, std::nullopt, false, dtype);
}
Tensor mean_all(const Tensor& self, std::optional<ScalarType> dtype) {
  return k::mean(self, std::nullopt, false, dtype);
}
Tensor prod_all(const Tensor& self, std::optional<ScalarType> dtype) {
  return k::prod(self, std::nullopt, false, dtype);
}
Tensor prod_dim(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return k::prod(self, IntVector{dim}, keepdim, dtype);
}
Tensor count_nonzero(const Tensor& self, std::optional<int64_t> dim) {
  return k::count_nonzero(self, dim ? k::ReduceDims(IntVector{*dim}) : std::nullopt, false);
}
Tensor count_nonzero_dims(const Tensor& self, const IntVector& dims) {
  return k::count_nonzero(self, dims, false);
}
std::tuple<Tensor, Tensor> aminmax_all(const Tensor& self) {
  return k::aminmax(self, std::nullopt, false);
}
std::tuple<Tensor, Tensor> aminmax_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return k::aminmax(self, dim, keepdim);
}

// var, std and their pairs by bool `unbiased` instead of a correction.
template <auto Fn>
auto of_all(const Tensor& self, bool unbiased) {
  return Fn(self, std::nullopt, Scalar(unbiased ? 1 : 0), false);
}
template <auto Fn>
auto of_dims(const Tensor& self, const k::ReduceDims& dims, bool unbiased, bool keepdim) {
  return Fn(self, dims, Scalar(unbiased ? 1 : 0), keepdim);
}

Tensor norm(const Tensor& self, const Scalar& p) {
  return k::vector_norm(self, p, std::nullopt, false, std::nullopt);
}
Tensor norm_dim(const Tensor& self, const std::optional<Scalar>& p, const IntVector& dims,
                bool keepdim) {
  return k::vector_norm(self, p.value_or(Scalar(2)), dims, keepdim, std::nullopt);
}
Tensor norm_dim_dtype(const Tensor& self, const std::optional<Scalar>& p, const IntVector& dims,
                      bool keepdim, ScalarType dtype) {
  return k::vector_norm(self, p.value_or(Scalar(2)), dims, keepdim, dtype);
}
Tensor norm_dtype(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return k::vector_norm(self, p.value_or(Scalar(2)), std::nullopt, false, dtype);
}
Tensor frobenius_norm(const Tensor& self, const IntVector& dims, bool keepdim) {
  return k::vector_norm(self, Scalar(2), dims, keepdim, std::nullopt);
}

constexpr OpRow kRows[] = {
    {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     boxed<&k::sum>, ir::kNoEffect, &shapes::reduce,
     facts(OpKind::kSum, Role::kRowwise, FoldKind::kSum)},
    {"aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
     "dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::sum>},
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", boxed<&sum_all>, ir::kNoEffect,
     &shapes::reduce_all},
    {"aten::sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&sum_all>},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", boxed<&mean_all>,
     ir::kNoEffect, &shapes::reduce_all},
    {"aten::mean.dtype_out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&mean_all>},
    {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     boxed<&k::mean>, ir::kNoEffect, &shapes::reduce,
     facts(Role::kRowwise, OpKind::kMean, FoldKind::kMean)},
    {"aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::mean>},
    {"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
     "-> Tensor",
     boxed<&k::nansum>, ir::kNoEffect, &shapes::reduce},
    {"aten::nansum.out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::nansum>},
    {"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) "
     "-> Tensor",
     boxed<&k::nanmean>, ir::kNoEffect, &shapes::reduce},
    {"aten::nanmean.out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::nanmean>},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", boxed<&prod_all>,
     ir::kNoEffect, &shapes::reduce_all},
    {"aten::prod.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&prod_all>},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
     "Tensor",
     boxed<&prod_dim>, ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&prod_dim>},
    {"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", boxed<&k::amax>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise, OpKind::kLargest, FoldKind::kLargest)},
    {"aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::amax>},
    {"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", boxed<&k::amin>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise, FoldKind::kSmallest)},
    {"aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::amin>},
    {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
     boxed<&k::aminmax>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::aminmax.out(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, "
     "Tensor(b!) max) -> (Tensor(a!) min, Tensor(b!) max)",
     out_variant<&k::aminmax>},
    {"aten::_aminmax(Tensor self) -> (Tensor, Tensor)", boxed<&aminmax_all>},
    {"aten::_aminmax.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), "
     "Tensor(b!))",
     out_variant<&aminmax_all>},
    {"aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
     boxed<&aminmax_dim>},
    {"aten::_aminmax.dim_out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out0, "
     "Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     out_variant<&aminmax_dim>},
    {"aten::max(Tensor self) -> Tensor", boxed<&k::max>, ir::kNoEffect, &shapes::reduce_all},
    {"aten::max.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::max>},
    {"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     boxed<&k::max_dim>, ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise, OpKind::kLargest)},
    {"aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) "
     "max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::max_dim>},
    {"aten::min(Tensor self) -> Tensor", boxed<&k::min>, ir::kNoEffect, &shapes::reduce_all},
    {"aten::min.unary_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::min>},
    {"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     boxed<&k::min_dim>, ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) "
     "min_indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::min_dim>},
    {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", boxed<&k::argmax>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::argmax>},
    {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", boxed<&k::argmin>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::argmin>},
    {"aten::any(Tensor self) -> Tensor", boxed<&k::any>, ir::kNoEffect, &shapes::reduce_all},
    {"aten::any.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::any>},
    {"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", boxed<&k::any_dim>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::any_dim>},
    {"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     boxed<&k::any_dims>, ir::kNoEffect, &shapes::reduce_listed},
    {"aten::any.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::any_dims>},
    {"aten::all(Tensor self) -> Tensor", boxed<&k::all>, ir::kNoEffect, &shapes::reduce_all},
    {"aten::all.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::all>},
    {"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", boxed<&k::all_dim>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::all_dim>},
    {"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     boxed<&k::all_dims>, ir::kNoEffect, &shapes::reduce_listed},
    {"aten::all.dims_out(Tensor self, int[]? dim=None, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::all_dims>},
    {"aten::_is_any_true(Tensor self) -> Tensor", boxed<&k::any>},
    {"aten::_is_all_true(Tensor self) -> Tensor", boxed<&k::all>},
    {"aten::std(Tensor self, bool unbiased=True) -> Tensor", boxed<&of_all<&k::std_deviation>>,
     ir::kNoEffect, &shapes::reduce_all},
    {"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     boxed<&of_dims<&k::std_deviation>>, ir::kNoEffect, &shapes::reduce,
     facts(Role::kRowwise, FoldKind::kDeviation)},
    {"aten::std.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&of_dims<&k::std_deviation>>},
    {"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> Tensor",
     boxed<&k::std_deviation>, ir::kNoEffect, &shapes::reduce,
     facts(Role::kRowwise, FoldKind::kDeviation)},
    {"aten::std.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::std_deviation>},
    {"aten::var(Tensor self, bool unbiased=True) -> Tensor", boxed<&of_all<&k::var>>, ir::kNoEffect,
     &shapes::reduce_all},
    {"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
     boxed<&of_dims<&k::var>>, ir::kNoEffect, &shapes::reduce,
     facts(Role::kRowwise, FoldKind::kVariance)},
    {"aten::var.out(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&of_dims<&k::var>>},
    {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> Tensor",
     boxed<&k::var>, ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise, FoldKind::kVariance)},
    {"aten::var.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::var>},
    {"aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
     boxed<&of_all<&k::std_mean>>},
    {"aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     boxed<&of_dims<&k::std_mean>>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> (Tensor, Tensor)",
     boxed<&k::std_mean>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::std_mean.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     out_variant<&k::std_mean>},
    {"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
     boxed<&of_all<&k::var_mean>>},
    {"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     boxed<&of_dims<&k::var_mean>>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
     "keepdim=False) -> (Tensor, Tensor)",
     boxed<&k::var_mean>, ir::kNoEffect, nullptr, facts(Role::kRowwise)},
    {"aten::var_mean.correction_out(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
     "bool keepdim=False, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
     out_variant<&k::var_mean>},
    {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", boxed<&norm>, ir::kNoEffect,
     &shapes::reduce_all},
    {"aten::norm.Scalar_out(Tensor self, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&norm>},
    {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
     boxed<&norm_dim>, ir::kNoEffect, &shapes::reduce,
     facts(Role::kRowwise, OpKind::kNorm, FoldKind::kLength)},
    {"aten::norm.out(Tensor self, Scalar? p, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&norm_dim>},
    {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
     "ScalarType dtype) -> Tensor",
     boxed<&norm_dim_dtype>, ir::kNoEffect, &shapes::reduce},
    {"aten::norm.dtype_out(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype, "
     "Tensor(a!) out) -> Tensor(a!)",
     out_variant<&norm_dim_dtype>},
    {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
     boxed<&norm_dtype>},
    {"aten::norm.ScalarOpt_dtype_out(Tensor self, Scalar? p, *, ScalarType dtype, Tensor(a!) out) "
     "-> Tensor(a!)",
     out_variant<&norm_dtype>},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     boxed<&frobenius_norm>},
    {"aten::frobenius_norm.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&frobenius_norm>},
    {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     boxed<&k::vector_norm>, ir::kNoEffect, &shapes::reduce,
     facts(Role::kRowwise, OpKind::kNorm, FoldKind::kLength)},
    {"aten::linalg_vector_norm.out(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
     "keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::vector_norm>},
    {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", boxed<&k::logsumexp>,
     ir::kNoEffect, &shapes::reduce, facts(Role::kRowwise)},
    {"aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     out_variant<&k::logsumexp>},
    other_name("aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
               "aten::logsumexp"),
    other_name("aten::special_logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, "
               "Tensor(a!) out) -> Tensor(a!)",
               "aten::logsumexp.out"),
    {"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", boxed<&count_nonzero>},
    {"aten::count_nonzero.out(Tensor self, int? dim=None, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&count_nonzero>},
    {"aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
     boxed<&count_nonzero_dims>, ir::kNoEffect, &shapes::reduce},
    {"aten::count_nonzero.dim_IntList_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&count_nonzero_dims>},
    {"aten::median(Tensor self) -> Tensor", boxed<&k::median>, ir::kNoEffect, &shapes::reduce_all},
    {"aten::median.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::median>},
    {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
     "indices)",
     boxed<&k::median_dim>, ir::kNoEffect, &shapes::reduce},
    {"aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, "
     "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::median_dim>},
    {"aten::nanmedian(Tensor self) -> Tensor", boxed<&k::nanmedian>, ir::kNoEffect,
     &shapes::reduce_all},
    {"aten::nanmedian.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::nanmedian>},
    {"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
     "indices)",
     boxed<&k::nanmedian_dim>, ir::kNoEffect, &shapes::reduce},
    {"aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, "
     "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::nanmedian_dim>},
    {"aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     boxed<&k::mode>, ir::kNoEffect, &shapes::reduce},
    {"aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, "
     "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::mode>},
    {"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, "
     "Tensor indices)",
     boxed<&k::kthvalue>, ir::kNoEffect, &shapes::reduce},
    {"aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) "
     "values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)",
     out_variant<&k::kthvalue>},
    {"aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     boxed<&k::quantile>},
    {"aten::quantile.out(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\", Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::quantile>},
    {"aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     boxed<&k::quantile_scalar>},
    {"aten::quantile.scalar_out(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\", Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::quantile_scalar>},
    {"aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     boxed<&k::nanquantile>},
    {"aten::nanquantile.out(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\", Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::nanquantile>},
    {"aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     boxed<&k::nanquantile_scalar>},
    {"aten::nanquantile.scalar_out(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\", Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::nanquantile_scalar>},
    {"aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", boxed<&k::sum_to_size>},
    {"aten::trace(Tensor self) -> Tensor", boxed<&k::trace>},
    {"aten::trace.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", out_variant<&k::trace>},
};

}  // namespace

std::span<const OpRow> reduction_rows() { return kRows; }

}  // namespace tierup::ops
