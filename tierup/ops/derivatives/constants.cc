// What has no gradient: comparisons, tests, searches, and tensors made from sizes and numbers.
#include "tierup/ops/derivatives/tables.h"

namespace tierup::ops::derivatives {
namespace {

constexpr auto kNone = DerivativeKind::kNone;
constexpr auto kZero = DerivativeKind::kZero;

#define TIERUP_COMPARISON(name) \
  {"aten::" name ".Tensor", kNone}, { "aten::" name ".Scalar", kNone }
// In place, the written tensor keeps its gradient flag.
#define TIERUP_WRITTEN(name) \
  {"aten::" name "_.Tensor", kZero}, { "aten::" name "_.Scalar", kZero }

constexpr DerivativeRow kRows[] = {
    TIERUP_COMPARISON("eq"),
    TIERUP_WRITTEN("eq"),
    TIERUP_COMPARISON("ne"),
    TIERUP_WRITTEN("ne"),
    TIERUP_COMPARISON("lt"),
    TIERUP_WRITTEN("lt"),
    TIERUP_COMPARISON("le"),
    TIERUP_WRITTEN("le"),
    TIERUP_COMPARISON("gt"),
    TIERUP_WRITTEN("gt"),
    TIERUP_COMPARISON("ge"),
    TIERUP_WRITTEN("ge"),
    {"aten::logical_and", kNone},
    {"aten::logical_or", kNone},
    {"aten::logical_xor", kNone},
    {"aten::logical_not", kNone},
    // In place, these leave the written tensor's gradient as it comes.
    {"aten::logical_and_", kNone},
    {"aten::logical_or_", kNone},
    {"aten::logical_xor_", kNone},
    {"aten::logical_not_", kNone},
    {"aten::bitwise_not", kNone},
    TIERUP_COMPARISON("bitwise_and"),
    TIERUP_COMPARISON("bitwise_or"),
    TIERUP_COMPARISON("bitwise_xor"),
    {"aten::gcd", kNone},
    {"aten::lcm", kNone},
    {"aten::where.Scalar", kNone},
    {"aten::isnan", kNone},
    {"aten::isinf", kNone},
    {"aten::isfinite", kNone},
    {"aten::isposinf", kNone},
    {"aten::isneginf", kNone},
    {"aten::isclose", kNone},
    {"aten::allclose", kNone},
    {"aten::equal", kNone},
    {"aten::signbit", kNone},
    {"aten::nonzero", kNone},
    {"aten::nonzero_numpy", kNone},
    {"aten::nonzero_static", kNone},
    {"aten::argwhere", kNone},
    {"aten::where", kNone},
    {"aten::one_hot", kNone},
    {"aten::searchsorted.Tensor", kNone},
    {"aten::searchsorted.Scalar", kNone},
    {"aten::bucketize.Tensor", kNone},
    {"aten::bucketize.Scalar", kNone},
    {"aten::isin.Tensor_Tensor", kNone},
    {"aten::isin.Tensor_Scalar", kNone},
    {"aten::isin.Scalar_Tensor", kNone},
    {"aten::bincount", kNone},
    {"aten::histc", kNone},
    {"aten::full_like", kNone},
    {"aten::zeros_like", kNone},
    {"aten::ones_like", kNone},
    {"aten::empty_like", kNone},
    {"aten::new_full", kNone},
    {"aten::new_zeros", kNone},
    {"aten::new_ones", kNone},
    {"aten::new_empty", kNone},
    {"aten::new_empty_strided", kNone},
    {"aten::_shape_as_tensor", kNone},
    {"aten::special_airy_ai", kNone},
    {"aten::special_bessel_j0", kNone},
    {"aten::special_bessel_j1", kNone},
    {"aten::special_bessel_y0", kNone},
    {"aten::special_bessel_y1", kNone},
    {"aten::special_modified_bessel_i0", kNone},
    {"aten::special_modified_bessel_i1", kNone},
    {"aten::special_modified_bessel_k0", kNone},
    {"aten::special_modified_bessel_k1", kNone},
    {"aten::special_scaled_modified_bessel_k0", kNone},
    {"aten::special_scaled_modified_bessel_k1", kNone},
    {"aten::special_spherical_bessel_j0", kNone},
#define TIERUP_POLYNOMIAL(name)                                                 \
  {"aten::special_" name, kNone}, {"aten::special_" name ".x_scalar", kNone}, { \
    "aten::special_" name ".n_scalar", kNone                                    \
  }
    TIERUP_POLYNOMIAL("chebyshev_polynomial_t"),
    TIERUP_POLYNOMIAL("chebyshev_polynomial_u"),
    TIERUP_POLYNOMIAL("chebyshev_polynomial_v"),
    TIERUP_POLYNOMIAL("chebyshev_polynomial_w"),
    TIERUP_POLYNOMIAL("shifted_chebyshev_polynomial_t"),
    TIERUP_POLYNOMIAL("shifted_chebyshev_polynomial_u"),
    TIERUP_POLYNOMIAL("shifted_chebyshev_polynomial_v"),
    TIERUP_POLYNOMIAL("shifted_chebyshev_polynomial_w"),
    TIERUP_POLYNOMIAL("hermite_polynomial_h"),
    TIERUP_POLYNOMIAL("hermite_polynomial_he"),
    TIERUP_POLYNOMIAL("laguerre_polynomial_l"),
    TIERUP_POLYNOMIAL("legendre_polynomial_p"),
#undef TIERUP_POLYNOMIAL
};

#undef TIERUP_COMPARISON
#undef TIERUP_WRITTEN

}  // namespace

std::span<const DerivativeRow> constants_derivatives() { return kRows; }

}  // namespace tierup::ops::derivatives
