// Orthogonal polynomials.
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

constexpr OpRow kRows[] = {
    {"aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevT, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevT, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevT, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_t.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevT, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kChebyshevT, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_t.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevT, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevU, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevU, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevU, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_u.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevU, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kChebyshevU, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_u.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevU, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevV, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevV, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevV, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_v.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevV, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kChebyshevV, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_v.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevV, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevW, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevW, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kChebyshevW, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_w.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevW, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kChebyshevW, Promote::kFloating>},
    {"aten::special_chebyshev_polynomial_w.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kChebyshevW, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevT, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kShiftedChebyshevT, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevT, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_t.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevT, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kShiftedChebyshevT, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_t.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevT, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevU, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kShiftedChebyshevU, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevU, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_u.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevU, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kShiftedChebyshevU, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_u.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevU, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevV, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kShiftedChebyshevV, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevV, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_v.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevV, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kShiftedChebyshevV, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_v.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevV, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevW, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kShiftedChebyshevW, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kShiftedChebyshevW, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_w.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevW, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kShiftedChebyshevW, Promote::kFloating>},
    {"aten::special_shifted_chebyshev_polynomial_w.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) "
     "out) -> Tensor(a!)",
     body_out<Body::kShiftedChebyshevW, Promote::kFloating>},
    {"aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kHermiteH, Promote::kFloating>},
    {"aten::special_hermite_polynomial_h.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kHermiteH, Promote::kFloating>},
    {"aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kHermiteH, Promote::kFloating>},
    {"aten::special_hermite_polynomial_h.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kHermiteH, Promote::kFloating>},
    {"aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kHermiteH, Promote::kFloating>},
    {"aten::special_hermite_polynomial_h.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kHermiteH, Promote::kFloating>},
    {"aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kHermiteHe, Promote::kFloating>},
    {"aten::special_hermite_polynomial_he.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kHermiteHe, Promote::kFloating>},
    {"aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kHermiteHe, Promote::kFloating>},
    {"aten::special_hermite_polynomial_he.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kHermiteHe, Promote::kFloating>},
    {"aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kHermiteHe, Promote::kFloating>},
    {"aten::special_hermite_polynomial_he.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kHermiteHe, Promote::kFloating>},
    {"aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kLaguerre, Promote::kFloating>},
    {"aten::special_laguerre_polynomial_l.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kLaguerre, Promote::kFloating>},
    {"aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kLaguerre, Promote::kFloating>},
    {"aten::special_laguerre_polynomial_l.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kLaguerre, Promote::kFloating>},
    {"aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kLaguerre, Promote::kFloating>},
    {"aten::special_laguerre_polynomial_l.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kLaguerre, Promote::kFloating>},
    {"aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor",
     body_row<Body::kLegendre, Promote::kFloating>},
    {"aten::special_legendre_polynomial_p.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kLegendre, Promote::kFloating>},
    {"aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor",
     body_row<Body::kLegendre, Promote::kFloating>},
    {"aten::special_legendre_polynomial_p.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kLegendre, Promote::kFloating>},
    {"aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor",
     body_row<Body::kLegendre, Promote::kFloating>},
    {"aten::special_legendre_polynomial_p.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kLegendre, Promote::kFloating>},
};

}  // namespace

std::span<const OpRow> special_polynomials_rows() { return kRows; }

}  // namespace tierup::ops
