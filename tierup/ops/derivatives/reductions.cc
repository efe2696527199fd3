// Sums, means, products, extrema, moments and norms.
#include "tierup/ops/derivatives/dimensions.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

void sum(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::expand", c.sizes(0)); });
}
void sum_dim(GradContext& c) {
  c.give(0, [&] { return spread(c, grad(c), reduced_dims(c, "dim"), c.bool_of("keepdim")); });
}
void mean(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::expand", c.sizes(0)) / c.numel(0); });
}
void mean_dim(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = reduced_dims(c, "dim");
    return spread(c, grad(c), dims, c.bool_of("keepdim")) / reduced_count(c, dims);
  });
}
void nansum(GradContext& c) {
  c.give(0, [&] {
    const Term g = spread(c, grad(c), reduced_dims(c, "dim"), c.bool_of("keepdim"));
    return cleared(g, arg(c, 0).then("aten::isnan"));
  });
}
void nanmean(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = reduced_dims(c, "dim");
    const Term missing = arg(c, 0).then("aten::isnan");
    const Term count =
        c.rank(0) == 0 ? total(inverted(missing)) : sum_over(inverted(missing), dims, true);
    return cleared(restored(c, grad(c), dims, c.bool_of("keepdim")) / count *
                       call(c, "aten::ones", c.sizes(0), c.dtype(0)),
                   missing);
  });
}

// Of each element, the product of all others along `dim`: right at zeros, too.
Term product_of_others(const Term& x, int64_t dim, int64_t size) {
  GradContext& c = x.context();
  const auto before = [&](const Term& line) {
    const Term first = ones_like(line.then("aten::narrow", dim, 0, 1));
    const Term products = line.then("aten::narrow", dim, 0, size - 1).then("aten::cumprod", dim);
    return call(c, "aten::cat", std::vector<GradValue>{first, products}, dim);
  };
  const auto turned_round = [&](const Term& t) { return t.then("aten::flip", IntVector{dim}); };
  return before(x) * turned_round(before(turned_round(x)));
}
// What a sum of another dtype was taken of.
Term converted(GradContext& c, const Term& x) {
  return c.is_none("dtype") ? x : x.then("aten::to.dtype", c.value_of("dtype"));
}
void prod(GradContext& c) {
  c.give(0, [&] {
    const Term g = grad(c).then("aten::expand", c.sizes(0));
    if (c.numel(0) == 0) return g * arg(c, 0);
    if (c.numel(0) == 1) return g;
    const Term flat = reshape(converted(c, arg(c, 0)), IntVector{-1});
    const Term others = product_of_others(flat, 0, c.numel(0));
    return g * others.then("aten::reshape", c.sizes(0)).conj();
  });
}
void prod_dim(GradContext& c) {
  c.give(0, [&] {
    const int64_t dim = wrap_dim(c.int_of("dim"), c.rank(0));
    const Term g = spread(c, grad(c), IntVector{dim}, c.bool_of("keepdim"));
    if (c.numel(0) == 0) return g * arg(c, 0);
    if (c.rank(0) == 0 || c.size(0, dim) <= 1) return g;
    return g * product_of_others(converted(c, arg(c, 0)), dim, c.size(0, dim)).conj();
  });
}

// Result k at the places of the elements that it was taken of.
Term at_elements(GradContext& c, size_t k, const IntVector& dims, bool keepdim) {
  return restored(c, result(c, k), dims, keepdim);
}
// The gradient of result k, split evenly among the elements where `same`: where that is none of
// them, 0 / 0.
Term shared_by(GradContext& c, size_t k, const Term& same, const IntVector& dims, bool keepdim) {
  const Term count = c.rank(0) == 0 ? total(same) : sum_over(same, dims, true);
  const Term whole = restored(c, grad(c, k), dims, keepdim).then("aten::expand", c.sizes(0));
  return only(whole, same) / count;
}
// Of elements equal to the result. None is equal to NaN, whose gradient is NaN.
Term shared_by_equals(GradContext& c, size_t k, const IntVector& dims, bool keepdim) {
  return shared_by(c, k, equal(arg(c, 0), at_elements(c, k, dims, keepdim)), dims, keepdim);
}
// Of a single result that is NaN, the NaNs share the gradient.
void extremum(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = all_dims(c);
    const Term x = arg(c, 0);
    const Term y = at_elements(c, 0, dims, false);
    const Term both_nan = both(x.then("aten::isnan"), y.then("aten::isnan"));
    return shared_by(c, 0, either(equal(x, y), both_nan), dims, false);
  });
}
void extrema_by_dim(GradContext& c) {
  c.give(0, [&] { return shared_by_equals(c, 0, reduced_dims(c, "dim"), c.bool_of("keepdim")); });
}
void aminmax(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = reduced_dims(c, "dim");
    const bool keepdim = c.bool_of("keepdim");
    return shared_by_equals(c, 0, dims, keepdim) + shared_by_equals(c, 1, dims, keepdim);
  });
}

// All to the index that the operator reports.
void to_reported_index(GradContext& c) {
  c.give(0,
         [&] { return placed(c, grad(c), result(c, 1), c.int_of("dim"), c.bool_of("keepdim")); });
}

void variance(GradContext& c, size_t k, const IntVector& dims, double correction, bool keepdim,
              bool root, Term& sum) {
  if (!c.has_grad(k)) return;
  Term g = grad(c, k);
  if (root) {
    const Term y = result(c, k);
    g = cleared(g / (y * 2), equal(y, 0.0));
  }
  const Term x = arg(c, 0);
  const Term center = c.rank(0) == 0 ? x : x.then("aten::mean.dim", dims, true);
  const double degrees = static_cast<double>(reduced_count(c, dims)) - correction;
  const Term part = restored(c, g, dims, keepdim) * (x - center) * Scalar(2.0 / degrees);
  sum = sum + part;
}
struct MomentCall {
  IntVector dims;
  double correction = 1;
  bool keepdim = false;
};
MomentCall moments_of_all(GradContext& c) {
  return {all_dims(c), c.bool_of("unbiased") ? 1.0 : 0.0, false};
}
MomentCall moments_of_dim(GradContext& c) {
  return {reduced_dims(c, "dim"), c.bool_of("unbiased") ? 1.0 : 0.0, c.bool_of("keepdim")};
}
MomentCall corrected_moments(GradContext& c) {
  return {reduced_dims(c, "dim"), c.float_of("correction", 1), c.bool_of("keepdim")};
}
template <MomentCall (*kCall)(GradContext&), bool kRoot, bool kWithMean>
void moments(GradContext& c) {
  c.give(0, [&] {
    const MomentCall m = kCall(c);
    Term sum(c, GradValue());
    variance(c, 0, m.dims, m.correction, m.keepdim, kRoot, sum);
    if (kWithMean && c.has_grad(1)) {
      const Term part = spread(c, grad(c, 1), m.dims, m.keepdim);
      sum = sum + part / reduced_count(c, m.dims);
    }
    return sum;
  });
}

void norm_of_all(GradContext& c) {
  const Scalar p = c.is_none("p") ? Scalar(2) : c.scalar_of("p");
  norm_gradient(c, p, all_dims(c), false);
}
void norm_of_dims(GradContext& c) {
  const Scalar p = c.is_none("p") ? Scalar(2) : c.scalar_of("p");
  norm_gradient(c, p, reduced_dims(c, "dim"), c.bool_of("keepdim"));
}
void frobenius_norm(GradContext& c) {
  norm_gradient(c, 2, reduced_dims(c, "dim"), c.bool_of("keepdim"));
}
void vector_norm(GradContext& c) {
  norm_gradient(c, c.scalar_of("ord"), reduced_dims(c, "dim"), c.bool_of("keepdim"));
}

void logsumexp(GradContext& c) {
  c.give(0, [&] {
    const IntVector dims = reduced_dims(c, "dim");
    const bool keepdim = c.bool_of("keepdim");
    const Term slope = exp(arg(c, 0) - restored(c, result(c), dims, keepdim));
    return restored(c, grad(c), dims, keepdim) * slope.conj();
  });
}

// As it is defined: between sorted neighbours.
struct Quantile {
  Term sorted;      // Along the last dimension.
  Term ranks;       // Where the quantiles stand in it.
  IntVector shape;  // Of the result.
  int64_t dim = 0;  // Where the reduced dimension stood.
};
Term interpolated(const Term& sorted, const Term& ranks, std::string_view how) {
  const auto value_at = [&](const Term& at) {
    return sorted.then("aten::gather", -1, at.then("aten::to.dtype", ScalarType::kLong));
  };
  if (how == "lower") return value_at(ranks.then("aten::floor"));
  if (how == "higher") return value_at(ranks.then("aten::ceil"));
  if (how == "nearest") return value_at(ranks.then("aten::round"));
  const Term low = ranks.then("aten::floor");
  const Term below = value_at(low);
  const Term above = value_at(ranks.then("aten::ceil"));
  if (how == "midpoint") return below.then("aten::lerp.Scalar", above, 0.5);
  return below.then("aten::lerp.Tensor", above, ranks - low);
}
void quantile_over(GradContext& c, bool skips_nan) {
  const int64_t rank = c.rank(0);
  const bool flat = c.is_none("dim");
  const int64_t dim = flat ? 0 : wrap_dim(c.int_of("dim"), rank);
  Term x = arg(c, 0);
  if (flat || rank == 0) x = reshape(x, IntVector{-1});
  const int64_t line = flat || rank == 0 ? 0 : dim;
  const int64_t size = flat || rank == 0 ? c.numel(0) : c.size(0, dim);
  const Term moved = x.then("aten::movedim.int", line, -1);
  const std::vector<GradValue> made = c.ops(2, "aten::sort", moved, -1, false);
  const Term sorted(c, made[0]);
  const bool many = c.is_tensor("q") && c.rank("q") > 0;
  Term q = c.is_tensor("q") ? arg(c, "q")
                            : call(c, "aten::full", IntVector{1}, c.scalar_of("q"), c.dtype(0));
  q = reshape(q, IntVector{-1});
  // Ranks [*, q]: NaNs stand at the end, where they win or are not counted.
  const Term missing = moved.then("aten::isnan");
  const Term count = sum_over(inverted(missing), IntVector{-1}, true);
  Term ranks = skips_nan ? (count - 1).then("aten::clamp_min", 0) * q
                         : q * Scalar(static_cast<double>(size - 1)) + zeros_like(count);
  if (!skips_nan) {
    ranks = cleared(ranks, missing.then("aten::any.dim", -1, true), static_cast<double>(size - 1));
  }
  Term found =
      interpolated(sorted, ranks.then("aten::to.dtype", c.dtype(0)), c.string_of("interpolation"));
  // [*, q] to [q, *], with the reduced dimension as 1 if it is kept.
  found = found.then("aten::movedim.int", -1, 0);
  IntVector shape;
  if (many) shape.push_back(c.size("q", 0));
  if (flat) {
    if (c.bool_of("keepdim")) shape.insert(shape.end(), static_cast<size_t>(rank), 1);
  } else {
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim) shape.push_back(c.size(0, d));
      if (d == dim && c.bool_of("keepdim")) shape.push_back(1);
    }
  }
  c.set_result(0, reshape(found, {shape.data(), shape.size()}));
}
void quantile(GradContext& c) { quantile_over(c, false); }
void nanquantile(GradContext& c) { quantile_over(c, true); }

void sum_to_size(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::expand", c.sizes(0)); });
}
void trace(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::trace_backward", c.sizes(0)); });
}

constexpr auto kNone = DerivativeKind::kNone;
constexpr auto kDecomposed = DerivativeKind::kDecomposition;

constexpr DerivativeRow kRows[] = {
    {"aten::sum", &sum},
    {"aten::sum.dim_IntList", &sum_dim},
    {"aten::mean", &mean},
    {"aten::mean.dim", &mean_dim},
    {"aten::nansum", &nansum},
    {"aten::nanmean", &nanmean},
    {"aten::prod", &prod},
    {"aten::prod.dim_int", &prod_dim},
    {"aten::max", &extremum},
    {"aten::min", &extremum},
    {"aten::median", &extremum},
    {"aten::nanmedian", &extremum},
    {"aten::amax", &extrema_by_dim},
    {"aten::amin", &extrema_by_dim},
    {"aten::aminmax", &aminmax},
    {"aten::max.dim", &to_reported_index, 0b10},
    {"aten::min.dim", &to_reported_index, 0b10},
    {"aten::median.dim", &to_reported_index, 0b10},
    {"aten::nanmedian.dim", &to_reported_index, 0b10},
    {"aten::mode", &to_reported_index, 0b10},
    {"aten::kthvalue", &to_reported_index, 0b10},
    {"aten::std", &moments<&moments_of_all, true, false>},
    {"aten::std.dim", &moments<&moments_of_dim, true, false>},
    {"aten::std.correction", &moments<&corrected_moments, true, false>},
    {"aten::var", &moments<&moments_of_all, false, false>},
    {"aten::var.dim", &moments<&moments_of_dim, false, false>},
    {"aten::var.correction", &moments<&corrected_moments, false, false>},
    {"aten::std_mean", &moments<&moments_of_all, true, true>},
    {"aten::std_mean.dim", &moments<&moments_of_dim, true, true>},
    {"aten::std_mean.correction", &moments<&corrected_moments, true, true>},
    {"aten::var_mean", &moments<&moments_of_all, false, true>},
    {"aten::var_mean.dim", &moments<&moments_of_dim, false, true>},
    {"aten::var_mean.correction", &moments<&corrected_moments, false, true>},
    {"aten::norm.Scalar", &norm_of_all},
    {"aten::norm.ScalarOpt_dtype", &norm_of_all},
    {"aten::norm.ScalarOpt_dim", &norm_of_dims},
    {"aten::norm.ScalarOpt_dim_dtype", &norm_of_dims},
    {"aten::frobenius_norm.dim", &frobenius_norm},
    {"aten::linalg_vector_norm", &vector_norm},
    {"aten::logsumexp", &logsumexp},
    {"aten::quantile", kDecomposed, &quantile},
    {"aten::quantile.scalar", kDecomposed, &quantile},
    {"aten::nanquantile", kDecomposed, &nanquantile},
    {"aten::nanquantile.scalar", kDecomposed, &nanquantile},
    {"aten::sum_to_size", &sum_to_size},
    {"aten::trace", &trace},
    {"aten::argmax", kNone},
    {"aten::argmin", kNone},
    {"aten::any", kNone},
    {"aten::any.dim", kNone},
    {"aten::any.dims", kNone},
    {"aten::all", kNone},
    {"aten::all.dim", kNone},
    {"aten::all.dims", kNone},
    {"aten::_is_any_true", kNone},
    {"aten::_is_all_true", kNone},
    {"aten::count_nonzero", kNone},
    {"aten::count_nonzero.dim_IntList", kNone},
};

}  // namespace

std::span<const DerivativeRow> reductions_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
