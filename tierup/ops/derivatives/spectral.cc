// Linear algebra by eigenvalues and singular values, norms of matrices, and functions of matrices.
#include <algorithm>
#include <cmath>

#include "tierup/ops/derivatives/dimensions.h"
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

Term rows(const Term& v) { return unsqueeze(v, -1); }
Term columns(const Term& v) { return unsqueeze(v, -2); }
Term on_diagonal(const Term& v) { return v.then("aten::diag_embed"); }
Term diagonal_of(const Term& m) { return m.then("aten::diagonal", 0, -2, -1); }
// Each entry divided by what is no zero off the diagonal; on it zero.
Term divided_off_diagonal(const Term& m, const Term& gaps) {
  const Term units = on_diagonal(ones_like(diagonal_of(gaps)));
  return (m - on_diagonal(diagonal_of(m))) / (gaps + units);
}

// --- eigenvalues

Term hermitian_gradient(const Term& values, const Term& vectors, const Term& gw, const Term& gv) {
  if (!gv.defined()) {  // Of complex vectors, too, the values are real.
    return gw.defined() ? matmul(vectors * columns(gw), adjoint(vectors)) : gw;
  }
  const Term vh = adjoint(vectors);
  const Term gaps = columns(values) - rows(values);
  const Term product = matmul(vh, gv);
  Term inner = divided_off_diagonal((product - adjoint(product)) * 0.5, gaps);
  if (gw.defined()) inner = inner + on_diagonal(gw);
  return matmul(matmul(vectors, inner), vh);
}
void eigh(GradContext& c) {
  c.give(0, [&] { return hermitian_gradient(result(c, 0), result(c, 1), grad(c, 0), grad(c, 1)); });
}
void eigvalsh(GradContext& c) {
  c.give(0, [&] {
    const std::vector<GradValue> made = c.ops(2, "aten::linalg_eigh", c.arg(0), c.value_of("UPLO"));
    return hermitian_gradient(Term(c, made[0]), Term(c, made[1]), grad(c), Term(c, GradValue()));
  });
}
Term eigen_gradient(GradContext& c, const Term& values, const Term& vectors, const Term& gw,
                    const Term& gv) {
  const Term vh = adjoint(vectors);
  Term inner(c, GradValue());
  if (gv.defined()) {
    const Term product = matmul(vh, gv);
    const Term lengths = diagonal_of(product).then("aten::real");
    const Term free = product - matmul(vh, vectors * columns(lengths));
    inner = divided_off_diagonal(free, (columns(values) - rows(values)).conj());
  }
  if (gw.defined()) inner = inner + on_diagonal(gw);
  return vh.then("aten::linalg_solve", matmul(inner, vh));
}
void eig(GradContext& c) {
  c.give(0, [&] { return eigen_gradient(c, result(c, 0), result(c, 1), grad(c, 0), grad(c, 1)); });
}
void eigvals(GradContext& c) {
  c.give(0, [&] {
    const std::vector<GradValue> made = c.ops(2, "aten::linalg_eig", c.arg(0));
    return eigen_gradient(c, Term(c, made[0]), Term(c, made[1]), grad(c), Term(c, GradValue()));
  });
}

// --- singular values

struct Svd {
  Term u, s, vh;
};
Term less_adjoint(const Term& m) { return m - adjoint(m); }
// For U [m, k], S [k], Vh [k, n].
Term svd_gradient(GradContext& c, const Svd& f, const Term& gu, const Term& gs, const Term& gvh) {
  if (!gu.defined() && !gvh.defined()) {  // Of complex vectors, too, the values are real.
    return gs.defined() ? matmul(f.u * columns(gs), f.vh) : gs;
  }
  const int64_t m = c.size(0, -2);
  const int64_t n = c.size(0, -1);
  const int64_t k = std::min(m, n);
  const Term uh = adjoint(f.u);
  const Term v = adjoint(f.vh);
  const Term squares = square(f.s);
  const Term gaps = columns(squares) - rows(squares);
  Term inner(c, GradValue());
  if (gu.defined()) {
    const Term turn = divided_off_diagonal(less_adjoint(matmul(uh, gu)), gaps);
    inner = turn * columns(f.s);
  }
  if (gvh.defined()) {
    const Term turn = divided_off_diagonal(less_adjoint(matmul(f.vh, adjoint(gvh))), gaps);
    inner = inner + rows(f.s) * turn;
  }
  if (gs.defined()) inner = inner + on_diagonal(gs);
  Term g = matmul(matmul(f.u, inner), f.vh);
  if (m > k && gu.defined()) {
    const Term outside = gu - matmul(f.u, matmul(uh, gu));
    g = g + matmul(outside / columns(f.s), f.vh);
  }
  if (n > k && gvh.defined()) {
    const Term outside = gvh - matmul(matmul(gvh, v), f.vh);
    g = g + matmul(f.u / columns(f.s), outside);
  }
  return g;
}
// The first k vectors of a full decomposition.
Term first_columns(const Term& m, int64_t k) { return m.then("aten::narrow", -1, 0, k); }
Term first_rows(const Term& m, int64_t k) { return m.then("aten::narrow", -2, 0, k); }
void linalg_svd(GradContext& c) {
  c.give(0, [&] {
    const int64_t k = std::min(c.size(0, -2), c.size(0, -1));
    const bool has_option = c.row().schema().name == "aten::_linalg_svd";
    if (has_option && !c.bool_of("compute_uv")) {  // They are computed now.
      const std::vector<GradValue> made = c.ops(3, "aten::linalg_svd", c.arg(0), false);
      return svd_gradient(c, {Term(c, made[0]), Term(c, made[1]), Term(c, made[2])},
                          Term(c, GradValue()), grad(c, 1), Term(c, GradValue()));
    }
    return svd_gradient(c,
                        {first_columns(result(c, 0), k), result(c, 1), first_rows(result(c, 2), k)},
                        first_columns(grad(c, 0), k), grad(c, 1), first_rows(grad(c, 2), k));
  });
}
// With V in place of its adjoint.
void svd(GradContext& c) {
  const int64_t k = std::min(c.size(0, -2), c.size(0, -1));
  const std::vector<GradValue> made = c.ops(3, "aten::linalg_svd", c.arg(0), !c.bool_of("some"));
  if (c.bool_of("compute_uv")) {
    c.set_result(0, made[0]);
    c.set_result(2, adjoint(Term(c, made[2])));
  } else {
    c.set_result(0, first_columns(Term(c, made[0]), k) * 0.0);
    c.set_result(2, adjoint(Term(c, made[2])) * 0.0);
  }
  c.set_result(1, made[1]);
}
Svd thin_svd(GradContext& c, const Term& a) {
  const std::vector<GradValue> made = c.ops(3, "aten::linalg_svd", a.operator GradValue(), false);
  return {Term(c, made[0]), Term(c, made[1]), Term(c, made[2])};
}
void svdvals(GradContext& c) {
  c.give(0, [&] {
    const Svd f = thin_svd(c, arg(c, 0));
    return svd_gradient(c, f, Term(c, GradValue()), grad(c), Term(c, GradValue()));
  });
}

// --- norms of matrices

struct MatrixDims {
  IntVector dims;
  bool keepdim = false;
};
Term with_dims(const Term& norm, const MatrixDims& d, int64_t rank) {
  if (!d.keepdim) return norm;
  const int64_t first = std::min(wrap_dim(d.dims[0], rank), wrap_dim(d.dims[1], rank));
  const int64_t second = std::max(wrap_dim(d.dims[0], rank), wrap_dim(d.dims[1], rank));
  return unsqueeze(unsqueeze(norm, first), second);
}
Term moved_last(const Term& x, const MatrixDims& d) {
  return x.then("aten::movedim.intlist", d.dims, IntVector{-2, -1});
}
Term values_of(const Term& x, const MatrixDims& d) {
  return moved_last(x, d).then("aten::linalg_svdvals");
}
Term numbered_norm(const Term& x, double p, const MatrixDims& d, int64_t rank) {
  if (x.context().numel(0) == 0) return x.then("aten::linalg_vector_norm", 2, d.dims, d.keepdim);
  if (std::abs(p) == 2) {
    const Term s = values_of(x, d);
    const IntVector last{-1};
    return with_dims(p > 0 ? s.then("aten::amax", last) : s.then("aten::amin", last), d, rank);
  }
  const bool by_column = std::abs(p) == 1;
  const Term sums = sum_over(abs(moved_last(x, d)), IntVector{by_column ? -2 : -1}, false);
  const IntVector last{-1};
  return with_dims(p > 0 ? sums.then("aten::amax", last) : sums.then("aten::amin", last), d, rank);
}
Term named_norm(const Term& x, std::string_view name, const MatrixDims& d, int64_t rank) {
  if (name == "fro") return x.then("aten::linalg_vector_norm", 2, d.dims, d.keepdim);
  return with_dims(sum_over(values_of(x, d), IntVector{-1}, false), d, rank);
}
Term converted(GradContext& c, const Term& x) {
  return c.is_none("dtype") ? x : x.then("aten::to.dtype", c.value_of("dtype"));
}
void matrix_norm(GradContext& c) {
  const MatrixDims d{c.ints_of("dim"), c.bool_of("keepdim")};
  const Term x = converted(c, arg(c, 0));
  if (c.value_of("ord").is_str()) {
    return c.set_result(0, named_norm(x, c.string_of("ord"), d, c.rank(0)));
  }
  c.set_result(0, numbered_norm(x, c.float_of("ord"), d, c.rank(0)));
}
void linalg_norm(GradContext& c) {
  const Term x = converted(c, arg(c, 0));
  const bool keepdim = c.bool_of("keepdim");
  const bool no_dim = c.is_none("dim");
  const bool named = c.value_of("ord").is_str();
  if (!named && (c.is_none("ord") || (no_dim && c.rank(0) == 1) ||
                 (!no_dim && c.ints_of("dim").size() == 1))) {
    const Scalar p = c.is_none("ord") ? Scalar(2) : c.scalar_of("ord");
    return c.set_result(0, x.then("aten::linalg_vector_norm", p, c.value_of("dim"), keepdim));
  }
  const MatrixDims d{no_dim ? IntVector{-2, -1} : c.ints_of("dim"), keepdim};
  c.set_result(0, named ? named_norm(x, c.string_of("ord"), d, c.rank(0))
                        : numbered_norm(x, c.float_of("ord"), d, c.rank(0)));
}
void nuclear_norm(GradContext& c) {
  const bool has_dim = c.row().schema().arguments.size() > 2;
  const MatrixDims d{has_dim ? c.ints_of("dim") : IntVector{-2, -1}, c.bool_of("keepdim")};
  c.set_result(0, named_norm(arg(c, 0), "nuc", d, c.rank(0)));
}
void cond(GradContext& c) {
  const MatrixDims d{{-2, -1}, false};
  const Term x = arg(c, 0);
  const bool named = c.value_of(1).is_str();
  if (c.numel(0) == 0) {
    const IntVector batch(c.shape(0).begin(), c.shape(0).end() - 2);
    return c.set_result(0, call(c, "aten::zeros", batch, real_type_of(c.dtype(0))));
  }
  if (c.is_none(1) || (!named && std::abs(c.float_of(1)) == 2)) {
    const Term s = values_of(x, d);
    const IntVector last{-1};
    const Term high = s.then("aten::amax", last);
    const Term low = s.then("aten::amin", last);
    return c.set_result(0, !c.is_none(1) && c.float_of(1) < 0 ? low / high : high / low);
  }
  const auto norm = [&](const Term& m) {
    return named ? named_norm(m, c.string_of(1), d, c.rank(0))
                 : numbered_norm(m, c.float_of(1), d, c.rank(0));
  };
  c.set_result(0, norm(x) * norm(x.then("aten::linalg_inv")));
}

// --- functions of matrices

// The upper right part of exp([[Ah, g], [0, Ah]]).
void matrix_exp(GradContext& c) {
  c.give(0, [&] {
    const int64_t n = c.size(0, -1);
    const Term h = adjoint(arg(c, 0));
    const Term g = grad(c);
    if (!g.defined()) return g;
    const auto beside = [&](const Term& a, const Term& b, int64_t dim) {
      return call(c, "aten::cat", std::vector<GradValue>{a, b}, dim);
    };
    const Term whole = beside(beside(h, g, -1), beside(zeros_like(h), h, -1), -2);
    return whole.then("aten::linalg_matrix_exp")
        .then("aten::narrow", -2, 0, n)
        .then("aten::narrow", -1, n, n);
  });
}
void matrix_power(GradContext& c) {
  int64_t n = c.int_of("n");
  Term base = arg(c, 0);
  if (n == 0) {
    const Term unit = call(c, "aten::eye", c.size(0, -1), c.dtype(0));
    return c.set_result(0, base * 0.0 + unit);
  }
  if (n < 0) {
    base = base.then("aten::linalg_inv");
    n = -n;
  }
  Term product(c, GradValue());
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) product = product.defined() ? matmul(product, base) : base;
    if (n > 1) base = matmul(base, base);
  }
  c.set_result(0, c.int_of("n") == 1 ? product.then("aten::clone") : product);
}
void tensorinv(GradContext& c) {
  const auto ind = static_cast<size_t>(c.int_of("ind"));
  const IntSpan s = c.shape(0);
  int64_t n = 1;
  for (const int64_t size : s.first(ind)) n *= size;
  IntVector sizes(s.begin() + static_cast<std::ptrdiff_t>(ind), s.end());
  sizes.insert(sizes.end(), s.begin(), s.begin() + static_cast<std::ptrdiff_t>(ind));
  c.set_result(0, reshape(reshape(arg(c, 0), IntVector{n, n}).then("aten::linalg_inv"), sizes));
}
void tensorsolve(GradContext& c) {
  Term a = arg(c, 0);
  IntVector shape(c.shape(0).begin(), c.shape(0).end());
  if (!c.is_none("dims")) {
    IntVector order;
    IntVector last = c.ints_of("dims");
    for (int64_t& d : last) d = wrap_dim(d, c.rank(0));
    for (int64_t d = 0; d < c.rank(0); ++d)
      if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
    order.insert(order.end(), last.begin(), last.end());
    a = a.then("aten::permute", order);
    for (size_t i = 0; i < order.size(); ++i) shape[i] = c.shape(0)[static_cast<size_t>(order[i])];
  }
  const int64_t n = c.numel(1);
  const IntVector sizes(shape.begin() + c.rank(1), shape.end());
  const Term x =
      reshape(a, IntVector{n, -1}).then("aten::linalg_solve", reshape(arg(c, 1), IntVector{n}));
  c.set_result(0, reshape(x, sizes));
}

// --- triangles and diagonals

void tril(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::tril", c.int_of("diagonal")); });
}
void triu(GradContext& c) {
  c.give(0, [&] { return grad(c).then("aten::triu", c.int_of("diagonal")); });
}
void diag(GradContext& c) {
  c.give(0, [&] {
    const int64_t offset = c.int_of("diagonal");
    if (c.rank(0) == 1) return grad(c).then("aten::diagonal", offset, 0, 1);
    return grad(c).then("aten::diagonal_backward", c.sizes(0), offset, 0, 1);
  });
}
void diag_embed(GradContext& c) {
  c.give(0, [&] {
    return grad(c).then("aten::diagonal", c.int_of("offset"), c.int_of("dim1"), c.int_of("dim2"));
  });
}
void diagflat(GradContext& c) {
  c.give(0, [&] {
    return grad(c)
        .then("aten::diagonal", c.int_of("offset"), 0, 1)
        .then("aten::reshape", c.sizes(0));
  });
}
// Powers 0 to n - 1, side by side.
Term powers(GradContext& c, int64_t n) {
  const bool is_number = c.rank(0) == 0;
  const Term line = is_number ? reshape(arg(c, 0), IntVector{1}) : arg(c, 0);
  const Term x = unsqueeze(line, -1);
  if (n == 0) return x.then("aten::narrow", -1, 0, 0);
  const Term one = ones_like(x);
  if (n == 1) return one;
  IntVector sizes(c.shape(0).begin(), c.shape(0).end());
  if (is_number) sizes.push_back(1);
  sizes.push_back(n - 1);
  const Term rest = expand(x, sizes).then("aten::cumprod", -1);
  return call(c, "aten::cat", std::vector<GradValue>{one, rest}, -1);
}
void linalg_vander(GradContext& c) {
  c.set_result(0, powers(c, c.int_of("N", c.rank(0) == 0 ? 1 : c.size(0, -1))));
}
void vander(GradContext& c) {
  const Term made = powers(c, c.int_of("N", c.size(0, 0)));
  c.set_result(0, c.bool_of("increasing") ? made : made.then("aten::flip", IntVector{-1}));
}

// --- covariance

Term covariance(GradContext& c, const Term& rows_of_x, int64_t observations, double correction,
                const Term& weights) {
  Term total_weight;
  Term average;
  if (weights.defined()) {
    total_weight = total(weights);
    average = sum_over(rows_of_x * weights, IntVector{1}, true) / total_weight;
  } else {
    average = rows_of_x.then("aten::mean.dim", IntVector{1}, true);
  }
  const Term centered = rows_of_x - average;
  const Term scaled_x = weights.defined() ? centered * weights : centered;
  const Term product = matmul(centered, adjoint(scaled_x));
  if (!weights.defined()) {
    const double degrees = std::max(0.0, static_cast<double>(observations) - correction);
    return product / degrees;
  }
  Term degrees = total_weight;
  if (correction != 0 && c.is_tensor("aweights")) {
    degrees = total_weight - total(weights * arg(c, "aweights")) / total_weight * correction;
  } else if (correction != 0) {
    degrees = total_weight - correction;
  }
  return product / degrees.then("aten::clamp_min", 0);
}
Term as_rows(GradContext& c) {
  return c.rank(0) == 2 ? arg(c, 0) : reshape(arg(c, 0), IntVector{1, c.numel(0)});
}
int64_t observations_of(GradContext& c) { return c.rank(0) == 2 ? c.size(0, 1) : c.numel(0); }
void cov(GradContext& c) {
  Term weights(c, GradValue());
  if (c.is_tensor("fweights")) weights = arg(c, "fweights");
  if (c.is_tensor("aweights")) {
    weights = weights.defined() ? weights * arg(c, "aweights") : arg(c, "aweights");
  }
  const Term made =
      covariance(c, as_rows(c), observations_of(c), c.float_of("correction"), weights);
  const bool single = c.rank(0) < 2 || c.size(0, 0) == 1;
  c.set_result(0, single ? reshape(made, IntVector{}) : made);
}
void corrcoef(GradContext& c) {
  const Term made = covariance(c, as_rows(c), observations_of(c), 1, Term(c, GradValue()));
  if (c.rank(0) < 2 || c.size(0, 0) == 1) {
    const Term one = reshape(made, IntVector{});
    return c.set_result(0, one / one);
  }
  const Term deviations = sqrt(diagonal_of(made).then("aten::real"));
  c.set_result(0, made / rows(deviations) / columns(deviations));
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;
constexpr auto kNone = DerivativeKind::kNone;

constexpr DerivativeRow kRows[] = {
    {"aten::linalg_eigh", &eigh},
    {"aten::_linalg_eigh", &eigh},
    {"aten::linalg_eigvalsh", &eigvalsh},
    {"aten::linalg_eig", &eig},
    {"aten::linalg_eigvals", &eigvals},
    {"aten::_linalg_eigvals", &eigvals},
    {"aten::linalg_svd", &linalg_svd},
    {"aten::_linalg_svd", &linalg_svd},
    {"aten::svd", kDecomposed, &svd},
    {"aten::linalg_svdvals", &svdvals},
    {"aten::linalg_matrix_norm", kDecomposed, &matrix_norm},
    {"aten::linalg_matrix_norm.str_ord", kDecomposed, &matrix_norm},
    {"aten::linalg_norm", kDecomposed, &linalg_norm},
    {"aten::linalg_norm.ord_str", kDecomposed, &linalg_norm},
    {"aten::nuclear_norm", kDecomposed, &nuclear_norm},
    {"aten::nuclear_norm.dim", kDecomposed, &nuclear_norm},
    {"aten::linalg_cond", kDecomposed, &cond},
    {"aten::linalg_cond.p_str", kDecomposed, &cond},
    {"aten::linalg_matrix_rank", kNone},
    {"aten::linalg_matrix_rank.tol_tensor", kNone},
    {"aten::linalg_matrix_rank.atol_rtol_tensor", kNone},
    {"aten::linalg_matrix_rank.atol_rtol_float", kNone},
    {"aten::linalg_matrix_exp", &matrix_exp},
    {"aten::matrix_exp", &matrix_exp},
    {"aten::matrix_power", kDecomposed, &matrix_power},
    {"aten::linalg_tensorinv", kDecomposed, &tensorinv},
    {"aten::linalg_tensorsolve", kDecomposed, &tensorsolve},
    {"aten::tril", &tril},
    {"aten::triu", &triu},
    {"aten::diag", &diag},
    {"aten::diag_embed", &diag_embed},
    {"aten::diagflat", &diagflat},
    {"aten::linalg_vander", kDecomposed, &linalg_vander},
    {"aten::vander", kDecomposed, &vander},
    {"aten::cov", kDecomposed, &cov},
    {"aten::corrcoef", kDecomposed, &corrcoef},
};

}  // namespace

std::span<const DerivativeRow> spectral_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
