// Pseudo-inverses, and least squares, whose solution is one times the right side.
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/derivatives/term.h"

namespace tierup::ops::derivatives {
namespace {

// Of A with the pseudo-inverse P, for the gradient of P.
Term pinv_gradient(const Term& a, const Term& p, const Term& gradient, bool is_wide) {
  const Term ph = adjoint(p);
  const Term gh = adjoint(gradient);
  if (is_wide) {
    const Term k = matmul(gh, p);
    const Term kph = matmul(k, ph);
    return -adjoint(matmul(p, k)) + kph - matmul(matmul(a, p), kph) +
           matmul(matmul(ph, p), gh - matmul(k, a));
  }
  const Term k = matmul(p, gh);
  const Term phk = matmul(ph, k);
  return -adjoint(matmul(k, p)) + matmul(matmul(gh - matmul(a, k), p), ph) + phk -
         matmul(matmul(phk, p), a);
}
bool is_wide(GradContext& c) { return c.size(0, -2) <= c.size(0, -1); }
void pinv(GradContext& c) {
  c.give(0, [&] { return pinv_gradient(arg(c, 0), result(c), grad(c), is_wide(c)); });
}

// X = P B. What the residuals |A X - B|^2 pass on, they pass on directly: X is where they are
// least.
void lstsq(GradContext& c) {
  // As many right sides may be a matrix that all matrices share.
  const bool vectors = static_cast<int64_t>(c.result_shape(0).size()) == c.rank(0) - 1;
  const auto as_matrix = [&](const Term& t) { return vectors ? unsqueeze(t, -1) : t; };
  const bool has_residuals = c.has_grad(1) && numel_of(c.result_shape(1)) > 0;
  const Term a = arg(c, 0);
  const Term b = as_matrix(arg(c, 1));
  const Term x = as_matrix(result(c));
  const auto inverse = [&] {
    return a.then("aten::linalg_pinv.atol_rtol_float", nullptr, nullptr, false);
  };
  const auto of_rest = [&] { return (matmul(a, x) - b) * unsqueeze(grad(c, 1), -2) * 2; };
  c.give(0, [&] {
    Term g(c, GradValue());
    if (c.has_grad(0)) {
      const Term of_inverse = matmul(as_matrix(grad(c)), adjoint(b));
      g = pinv_gradient(a, inverse(), of_inverse, is_wide(c));
    }
    return has_residuals ? g + matmul(of_rest(), adjoint(x)) : g;
  });
  c.give(1, [&] {
    Term g(c, GradValue());
    if (c.has_grad(0)) g = matmul(adjoint(inverse()), as_matrix(grad(c)));
    if (has_residuals) g = g - of_rest();
    return vectors ? squeeze(g, -1) : g;
  });
}

constexpr uint32_t kRankAndSingularValues = 0b1100;
constexpr DerivativeRow kRows[] = {
    {"aten::linalg_pinv", &pinv},
    {"aten::linalg_pinv.rcond_tensor", &pinv},
    {"aten::linalg_pinv.atol_rtol_tensor", &pinv},
    {"aten::linalg_pinv.atol_rtol_float", &pinv},
    {"aten::pinverse", &pinv},
    {"aten::linalg_lstsq", &lstsq, kRankAndSingularValues},
};

}  // namespace

std::span<const DerivativeRow> pseudo_inverse_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
