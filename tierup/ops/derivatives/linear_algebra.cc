// Linear algebra: solving, inverting, determinants and factorisations.
#include <algorithm>
#include <cmath>

#include "tierup/base/error.h"
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

Term tril(const Term& m, int64_t diagonal = 0) { return m.then("aten::tril", diagonal); }
Term triu(const Term& m, int64_t diagonal = 0) { return m.then("aten::triu", diagonal); }
Term solve(const Term& a, const Term& b, bool left = true) {
  return a.then("aten::linalg_solve", b, left);
}
Term solve_triangular(const Term& a, const Term& b, bool upper, bool left = true,
                      bool unit = false) {
  return a.then("aten::linalg_solve_triangular", b, upper, left, unit);
}
Term on_diagonal(const Term& v) { return v.then("aten::diag_embed"); }
// A vector of numbers as factors of rows.
Term rows(const Term& v) { return unsqueeze(v, -1); }

void inverse(GradContext& c) {
  c.give(0, [&] {
    const Term h = adjoint(result(c));
    return -matmul(h, matmul(grad(c), h));
  });
}

// --- A X = B, or X A = B

bool is_left(GradContext& c) { return c.bool_of("left"); }
// Whether B is a batch of vectors.
bool solves_vectors(GradContext& c) {
  if (c.rank(1) == 1) return true;
  return c.rank(0) - 1 == c.rank(1) &&
         std::equal(c.shape(1).begin(), c.shape(1).end(), c.shape(0).begin());
}
void solve_formula(GradContext& c) {
  const bool vectors = solves_vectors(c);
  const bool left = is_left(c);
  const auto as_matrix = [&](const Term& t) { return vectors ? unsqueeze(t, -1) : t; };
  const auto gradient_of_b = [&] { return solve(adjoint(arg(c, 0)), as_matrix(grad(c)), left); };
  c.give(0, [&] {
    const Term g = gradient_of_b();
    const Term x = adjoint(as_matrix(result(c)));
    return left ? -matmul(g, x) : -matmul(x, g);
  });
  c.give(1, [&] { return vectors ? squeeze(gradient_of_b(), -1) : gradient_of_b(); });
}
void triangular(GradContext& c) {
  const bool upper = c.bool_of("upper");
  const bool left = is_left(c);
  const bool unit = c.bool_of("unitriangular");
  const auto gradient_of_b = [&] {
    return solve_triangular(adjoint(arg(c, 0)), grad(c), !upper, left, unit);
  };
  c.give(0, [&] {
    const Term g = gradient_of_b();
    const Term x = adjoint(result(c));
    const Term whole = left ? -matmul(g, x) : -matmul(x, g);
    return upper ? triu(whole, unit ? 1 : 0) : tril(whole, unit ? -1 : 0);
  });
  c.give(1, gradient_of_b);
}
// (B, A, upper, transpose, unitriangular); the second result is a copy of A.
void triangular_solve(GradContext& c) {
  const bool turned_round = c.bool_of("transpose");
  const bool upper = c.bool_of("upper");
  const bool unit = c.bool_of("unitriangular");
  const auto gradient_of_b = [&] {
    const Term a = turned_round ? arg(c, 1).conj() : adjoint(arg(c, 1));
    return solve_triangular(a, grad(c), upper == turned_round, true, unit);
  };
  if (!c.has_grad(0)) c.give_zeros(0);
  if (c.has_grad(0)) c.give(0, gradient_of_b);
  c.give(1, [&] {
    const Term whole = -matmul(gradient_of_b(), adjoint(result(c)));
    const Term of_a = turned_round ? turned(whole) : whole;
    return (upper ? triu(of_a, unit ? 1 : 0) : tril(of_a, unit ? -1 : 0)) + grad(c, 1);
  });
}

// --- determinants

void det(GradContext& c) {
  c.give(0, [&] {
    const Term g = rows(rows(grad(c)));
    return c.size(0, -1) == 1 ? g : g * arg(c, 0).then("tierup::cofactors").conj();
  });
}
// Where the matrix is regular.
void cofactors(GradContext& c) {
  const Term a = arg(c, 0);
  const Term inverse_of = a.then("aten::linalg_inv");
  c.set_result(0, rows(rows(a.then("aten::linalg_det"))) * turned(inverse_of));
}
void slogdet(GradContext& c) {
  c.give(0, [&] {
    Term g = grad(c, 1);
    if (c.is_complex(0) && c.has_grad(0)) {
      const Term across = (grad(c, 0).conj() * result(c, 0)).then("aten::imag");
      g = g - across * Scalar(complex128(0, 1));
    }
    // Of a singular matrix it is infinite or NaN, and no error.
    const Term inv(c, c.ops(2, "aten::linalg_inv_ex", c.arg(0), false)[0]);
    return rows(rows(g)) * adjoint(inv);
  });
}
void logdet(GradContext& c) {
  const std::vector<GradValue> made = c.ops(2, "aten::linalg_slogdet", c.arg(0));
  const Term sign(c, made[0]);
  const Term size(c, made[1]);
  if (c.is_complex(0)) return c.set_result(0, size + log(sign));
  c.set_result(0, cleared(size, equal(sign, -1.0), NAN));
}

// --- Cholesky

void cholesky(GradContext& c) {
  c.give(0, [&] {
    const bool upper = c.bool_of("upper");
    const Term l = upper ? adjoint(result(c)) : result(c);
    const Term g = upper ? adjoint(grad(c)) : grad(c);
    // The lower triangle of Lh g, with half of its diagonal.
    const Term product = matmul(adjoint(l), g);
    const Term part = tril(product) - on_diagonal(product.then("aten::diagonal", 0, -2, -1)) * 0.5;
    const Term h = adjoint(l);
    const Term inner = solve_triangular(h, part, true);
    const Term whole = solve_triangular(l, inner, false, false);
    return (whole + adjoint(whole)) * 0.5;
  });
}
// The factor's gradient by that of A = L L^H, with its other triangle, which nothing reads, as the
// reference leaves it.
Term by_product(GradContext& c, ArgIndex i, const Term& of_product) {
  const Term both_ways = of_product + adjoint(of_product);
  return c.bool_of("upper") ? -matmul(arg(c, i), both_ways) : -matmul(both_ways, arg(c, i));
}
void cholesky_inverse(GradContext& c) {
  c.give(0, [&] {
    const Term inverse = result(c);
    return by_product(c, 0, matmul(inverse, matmul(grad(c), inverse)));
  });
}
void cholesky_solve(GradContext& c) {
  const Term of_self = grad(c).then("aten::cholesky_solve", arg(c, 1), c.bool_of("upper"));
  c.give(0, [&] { return of_self; });
  c.give(1, [&] { return by_product(c, 1, matmul(of_self, adjoint(result(c)))); });
}

// --- LU

struct Lu {
  Term p, l, u;
};
Term padded(const Term& t, int64_t right, int64_t below) {
  if (right == 0 && below == 0) return t;
  return t.then("aten::constant_pad_nd", IntVector{0, right, 0, below}, 0);
}
// The gradient of A = P L U by those of L and U.
Term lu_gradient(GradContext& c, const Lu& f, const Term& gl, const Term& gu) {
  const int64_t m = c.size(0, -2);
  const int64_t n = c.size(0, -1);
  const Term lh = adjoint(f.l);
  const Term uh = adjoint(f.u);
  Term g;
  if (m == n) {
    g = tril(matmul(lh, gl), -1) + triu(matmul(gu, uh));
    g = solve_triangular(uh, g, false, false);
    g = solve_triangular(lh, g, true, true, true);
  } else if (m < n) {
    const Term u1 = f.u.then("aten::narrow", -1, 0, m);
    const Term inner = tril(matmul(lh, gl) - matmul(triu(gu), uh), -1);
    g = triu(gu) + padded(solve_triangular(adjoint(u1), inner, false, false), n - m, 0);
    g = solve_triangular(lh, g, true, true, true);
  } else {
    const Term l1 = f.l.then("aten::narrow", -2, 0, n);
    const Term inner = triu(matmul(gu, uh) - matmul(lh, tril(gl, -1)));
    g = tril(gl, -1) + padded(solve_triangular(adjoint(l1), inner, true, true, true), 0, m - n);
    g = solve_triangular(uh, g, false, false);
  }
  return matmul(f.p, g);
}
Lu unpacked(GradContext& c, GradValue lu, GradValue pivots) {
  const std::vector<GradValue> made = c.ops(3, "aten::lu_unpack", lu, pivots);
  return {Term(c, made[0]), Term(c, made[1]), Term(c, made[2])};
}
void linalg_lu(GradContext& c) {
  c.give(0, [&] {
    if (!c.has_grad(1) && !c.has_grad(2)) return grad(c, 1);
    const Lu f{result(c, 0), result(c, 1), result(c, 2)};
    return lu_gradient(c, f, grad_or_zeros(c, 1), grad_or_zeros(c, 2));
  });
}
void lu_factor(GradContext& c) {
  c.give(0, [&] {
    const int64_t k = std::min(c.size(0, -2), c.size(0, -1));
    const Lu f = unpacked(c, c.result(0), c.result(1));
    const Term gl = tril(grad(c).then("aten::narrow", -1, 0, k), -1);
    const Term gu = triu(grad(c).then("aten::narrow", -2, 0, k));
    return lu_gradient(c, f, gl, gu);
  });
}
void lu_unpack(GradContext& c) {
  c.give(0, [&] {
    const int64_t m = c.size(0, -2);
    const int64_t n = c.size(0, -1);
    const int64_t k = std::min(m, n);
    return padded(tril(grad(c, 1), -1), n - k, 0) + padded(triu(grad(c, 2)), 0, m - k);
  });
}
// A X = B by A = P L U; X A = B is the adjoint of it.
Term solved_by_lu(const Lu& f, const Term& b, bool left, bool is_adjoint) {
  if (!left) return adjoint(solved_by_lu(f, adjoint(b), true, !is_adjoint));
  if (!is_adjoint) {
    const Term inner = solve_triangular(f.l, matmul(turned(f.p), b), false, true, true);
    return solve_triangular(f.u, inner, true);
  }
  const Term inner = solve_triangular(adjoint(f.u), b, false);
  return matmul(f.p, solve_triangular(adjoint(f.l), inner, true, true, true));
}
void linalg_lu_solve(GradContext& c) {
  const Lu f = unpacked(c, c.arg(0), c.arg(1));
  c.set_result(0, solved_by_lu(f, arg(c, 2), is_left(c), c.bool_of("adjoint")));
}
void lu_solve(GradContext& c) {
  c.set_result(0, solved_by_lu(unpacked(c, c.arg(1), c.arg(2)), arg(c, 0), true, false));
}

// --- roots and polar factors

// X of X H + H X = K, for a Hermitian H without negative eigenvalues.
Term between(GradContext& c, const Term& h, const Term& k) {
  const std::vector<GradValue> made = c.ops(2, "aten::linalg_eigh", h.operator GradValue());
  const Term values(c, made[0]);
  const Term vectors(c, made[1]);
  const Term vh = adjoint(vectors);
  const Term inner = matmul(matmul(vh, k), vectors) / (unsqueeze(values, -2) + rows(values));
  return matmul(matmul(vectors, inner), vh);
}
// A = U H: with A, U turns by a W with W H + H W = Uh dA less its adjoint.
void linalg_polar(GradContext& c) {
  c.give(0, [&] {
    const Term u = result(c, 0);
    const Term h = result(c, 1);
    const Term gu = grad(c, 0);
    const Term gh = grad(c, 1);
    const Term turn = matmul(adjoint(u), gu) - matmul(gh, h);
    Term g = matmul(u, between(c, h, turn - adjoint(turn))) + matmul(u, gh);
    if (c.size(0, -2) > c.size(0, -1) && gu.defined()) {
      const Term outside = gu - matmul(u, matmul(adjoint(u), gu));
      g = g + h.then("aten::linalg_solve", outside, false);
    }
    return g;
  });
}
// The root of a Hermitian matrix: A = X X.
void matrix_sqrth(GradContext& c) {
  c.give(0, [&] {
    const Term g = grad(c);
    return between(c, result(c), (g + adjoint(g)) * 0.5);
  });
}

// --- QR

// Of a matrix with no more columns than rows.
Term tall_qr(const Term& q, const Term& r, const Term& gq, const Term& gr) {
  Term inner(q.context(), GradValue());
  if (gr.defined()) inner = matmul(gr, adjoint(r));
  if (gq.defined()) inner = inner - matmul(adjoint(q), gq);
  const Term upper = triu(inner);
  const Term both_sides =
      upper + adjoint(upper) - on_diagonal(upper.then("aten::diagonal", 0, -2, -1));
  const Term g = matmul(q, both_sides) + gq;
  return solve_triangular(adjoint(r), g, false, false);
}
Term wide_qr(GradContext& c, const Term& q, const Term& r, const Term& gq, const Term& gr) {
  const int64_t m = c.size(0, -2);
  const int64_t rest = c.size(0, -1) - m;
  const auto left = [&](const Term& t) { return t.then("aten::narrow", -1, 0, m); };
  const auto right = [&](const Term& t) { return t.then("aten::narrow", -1, m, rest); };
  if (!gr.defined()) return padded(tall_qr(q, left(r), gq, gr), rest, 0);
  const Term of_q = gq + matmul(right(arg(c, 0)), adjoint(right(gr)));
  const Term first = tall_qr(q, left(r), of_q, left(gr));
  return call(c, "aten::cat", std::vector<GradValue>{first, matmul(q, right(gr))}, -1);
}
void qr_by(GradContext& c, bool complete, bool has_q) {
  const int64_t m = c.size(0, -2);
  const int64_t n = c.size(0, -1);
  c.give(0, [&] {
    require(
        has_q, ErrorCode::kUnsupported,
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
        "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.");
    require(!complete || m <= n, ErrorCode::kUnsupported,
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
    const Term q = result(c, 0);
    const Term r = result(c, 1);
    if (!c.has_grad(0) && !c.has_grad(1)) return grad(c, 0);
    if (m < n) return wide_qr(c, q, r, grad(c, 0), grad(c, 1));
    return tall_qr(q, r, grad(c, 0), grad(c, 1));
  });
}
void linalg_qr(GradContext& c) {
  qr_by(c, c.string_of("mode") == "complete", c.string_of("mode") != "r");
}
void qr(GradContext& c) { qr_by(c, !c.bool_of("some"), true); }

// Reflectors I - tau v vh; v stands in a column, below a 1.
class Reflectors {
 public:
  Reflectors(const Term& packed, const Term& tau, int64_t height)
      : packed_(packed), tau_(tau), height_(height) {}
  Term on_the_left(const Term& x, int64_t i, bool is_adjoint) const {
    const Term v = vector(i);
    return x - factor(i, is_adjoint) * matmul(v, matmul(adjoint(v), x));
  }
  Term on_the_right(const Term& x, int64_t i, bool is_adjoint) const {
    const Term v = vector(i);
    return x - factor(i, is_adjoint) * matmul(matmul(x, v), adjoint(v));
  }

 private:
  Term vector(int64_t i) const {
    const Term below = packed_.then("aten::narrow", -1, i, 1)
                           .then("aten::narrow", -2, i + 1, height_ - i - 1)
                           .then("aten::constant_pad_nd", IntVector{0, 0, 1, 0}, 1);
    return below.then("aten::constant_pad_nd", IntVector{0, 0, i, 0}, 0);
  }
  Term factor(int64_t i, bool is_adjoint) const {
    const Term t = unsqueeze(tau_.then("aten::narrow", -1, i, 1), -1);
    return is_adjoint ? t.conj() : t;
  }
  Term packed_, tau_;
  int64_t height_;
};
void householder_product(GradContext& c) {
  const int64_t m = c.size(0, -2);
  const int64_t n = c.size(0, -1);
  const Reflectors h(arg(c, 0), arg(c, 1), m);
  Term q = call(c, "aten::eye.m", m, n, c.dtype(0));
  for (int64_t i = c.size(1, -1); i-- > 0;) q = h.on_the_left(q, i, false);
  if (c.size(1, -1) == 0) q = q.then("aten::expand", c.sizes(0)).then("aten::clone");
  c.set_result(0, q);
}
// (packed, tau, other, left, transpose)
void ormqr(GradContext& c) {
  const bool left = c.bool_of("left");
  const bool is_adjoint = c.bool_of("transpose");
  const Reflectors h(arg(c, 0), arg(c, 1), c.size(0, -2));
  const int64_t count = c.size(1, -1);
  if (c.numel(2) == 0) return c.set_result(0, arg(c, 2).then("aten::clone"));
  Term x = arg(c, 2);
  for (int64_t step = 0; step < count; ++step) {
    const int64_t i = left == is_adjoint ? step : count - 1 - step;
    x = left ? h.on_the_left(x, i, is_adjoint) : h.on_the_right(x, i, is_adjoint);
  }
  c.set_result(0, x);
}

constexpr auto kDecomposed = DerivativeKind::kDecomposition;
constexpr uint32_t kAllButFirst = 0b1110;

constexpr DerivativeRow kRows[] = {
    {"aten::linalg_inv", &inverse},
    {"aten::inverse", &inverse},
    {"aten::linalg_inv_ex", &inverse, kAllButFirst},
    {"aten::linalg_solve", &solve_formula},
    {"aten::linalg_solve_ex", &solve_formula, kAllButFirst},
    {"aten::_linalg_solve_ex", &solve_formula, kAllButFirst},
    {"aten::linalg_solve_triangular", &triangular},
    {"aten::triangular_solve", &triangular_solve},
    {"aten::linalg_det", &det},
    {"aten::det", &det},
    {"aten::_linalg_det", &det, kAllButFirst},
    {"tierup::cofactors", kDecomposed, &cofactors},
    {"aten::linalg_slogdet", &slogdet},
    {"aten::slogdet", &slogdet},
    {"aten::_linalg_slogdet", &slogdet, 0b1100},
    {"aten::logdet", kDecomposed, &logdet},
    {"aten::linalg_cholesky", &cholesky},
    {"aten::linalg_cholesky_ex", &cholesky, kAllButFirst},
    {"aten::cholesky", &cholesky},
    {"aten::cholesky_inverse", &cholesky_inverse},
    {"aten::cholesky_solve", &cholesky_solve},
    {"aten::linalg_lu", &linalg_lu, 0b1},
    {"aten::linalg_lu_factor", &lu_factor, kAllButFirst},
    {"aten::linalg_lu_factor_ex", &lu_factor, kAllButFirst},
    {"aten::_lu_with_info", &lu_factor, kAllButFirst},
    {"aten::lu_unpack", &lu_unpack, 0b1},
    {"aten::linalg_lu_solve", kDecomposed, &linalg_lu_solve},
    {"aten::lu_solve", kDecomposed, &lu_solve},
    {"aten::linalg_polar", &linalg_polar},
    {"aten::linalg_matrix_sqrth", &matrix_sqrth},
    {"aten::linalg_qr", &linalg_qr},
    {"aten::qr", &qr},
    {"aten::linalg_householder_product", kDecomposed, &householder_product, kDifferentiatedAsOne},
    {"aten::orgqr", kDecomposed, &householder_product, kDifferentiatedAsOne},
    {"aten::ormqr", kDecomposed, &ormqr, kDifferentiatedAsOne},
};

}  // namespace

std::span<const DerivativeRow> linear_algebra_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
