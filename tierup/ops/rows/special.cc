// Special functions.
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// polygamma_ takes its arguments the other way round.
k::PointwiseCall polygamma_of(const Tensor& self, int64_t n) { return k::polygamma(n, self); }

constexpr OpRow kRows[] = {
    TIERUP_UNARY_ROWS("erfinv", Body::kErfinv, Promote::kFloating),
    TIERUP_UNARY_ROWS("lgamma", Body::kLgamma, Promote::kFloating),
    TIERUP_UNARY_ROWS("digamma", Body::kDigamma, Promote::kFloating),
    TIERUP_UNARY_ROWS("i0", Body::kI0, Promote::kFloating),
    TIERUP_OTHER_FUNCTION("special_i0", "i0"),
    TIERUP_FUNCTION_ROWS("special_i0e", Body::kI0e, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_i1", Body::kI1, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_i1e", Body::kI1e, Promote::kFloating),
    TIERUP_OTHER_FUNCTION("special_erfinv", "erfinv"),
    TIERUP_FUNCTION_ROWS("special_erfcx", Body::kErfcx, Promote::kFloating),
    TIERUP_OTHER_FUNCTION("special_gammaln", "lgamma"),
    TIERUP_OTHER_FUNCTION("special_digamma", "digamma"),
    TIERUP_OTHER_FUNCTION("special_psi", "digamma"),
    TIERUP_FUNCTION_ROWS("special_entr", Body::kEntr, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_ndtr", Body::kNdtr, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_ndtri", Body::kNdtri, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_log_ndtr", Body::kLogNdtr, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_bessel_j0", Body::kBesselJ0, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_bessel_j1", Body::kBesselJ1, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_bessel_y0", Body::kBesselY0, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_bessel_y1", Body::kBesselY1, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_modified_bessel_i0", Body::kI0, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_modified_bessel_i1", Body::kI1, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_modified_bessel_k0", Body::kBesselK0, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("special_modified_bessel_k1", Body::kBesselK1, Promote::kFloating),
    {"aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
     body_row<Body::kScaledBesselK0, Promote::kFloating>},
    {"aten::special_scaled_modified_bessel_k0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kScaledBesselK0, Promote::kFloating>},
    {"aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
     body_row<Body::kScaledBesselK1, Promote::kFloating>},
    {"aten::special_scaled_modified_bessel_k1.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kScaledBesselK1, Promote::kFloating>},
    {"aten::special_spherical_bessel_j0(Tensor x) -> Tensor",
     body_row<Body::kSphericalBesselJ0, Promote::kFloating>},
    {"aten::special_spherical_bessel_j0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kSphericalBesselJ0, Promote::kFloating>},
    {"aten::special_airy_ai(Tensor x) -> Tensor", body_row<Body::kAiryAi, Promote::kFloating>},
    {"aten::special_airy_ai.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kAiryAi, Promote::kFloating>},
    {"aten::special_xlog1py(Tensor self, Tensor other) -> Tensor",
     body_row<Body::kXlog1py, Promote::kFloating>},
    {"aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
     body_row<Body::kXlog1py, Promote::kFloating>},
    {"aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
     body_row<Body::kXlog1py, Promote::kFloating>},
    {"aten::special_xlog1py.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kXlog1py, Promote::kFloating>},
    {"aten::special_xlog1py.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kXlog1py, Promote::kFloating>},
    {"aten::special_xlog1py.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kXlog1py, Promote::kFloating>},
    other_name("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", "aten::xlogy.Tensor"),
    other_name("aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
               "aten::xlogy.Scalar_Other"),
    other_name("aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
               "aten::xlogy.Scalar_Self"),
    other_name(
        "aten::special_xlogy.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::xlogy.OutTensor"),
    other_name(
        "aten::special_xlogy.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> "
        "Tensor(a!)",
        "aten::xlogy.OutScalar_Self"),
    other_name(
        "aten::special_xlogy.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> "
        "Tensor(a!)",
        "aten::xlogy.OutScalar_Other"),
    {"aten::special_zeta(Tensor self, Tensor other) -> Tensor",
     body_row<Body::kZeta, Promote::kFloating>},
    {"aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
     body_row<Body::kZeta, Promote::kFloating>},
    {"aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
     body_row<Body::kZeta, Promote::kFloating>},
    {"aten::special_zeta.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kZeta, Promote::kFloating>},
    {"aten::special_zeta.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kZeta, Promote::kFloating>},
    {"aten::special_zeta.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     body_out<Body::kZeta, Promote::kFloating>},
    {"aten::igamma(Tensor self, Tensor other) -> Tensor",
     body_row<Body::kIgamma, Promote::kFloating>},
    {"aten::igamma.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kIgamma, Promote::kFloating>},
    {"aten::igamma_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     body_inplace<Body::kIgamma, Promote::kFloating>},
    {"aten::igammac(Tensor self, Tensor other) -> Tensor",
     body_row<Body::kIgammac, Promote::kFloating>},
    {"aten::igammac.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     body_out<Body::kIgammac, Promote::kFloating>},
    {"aten::igammac_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     body_inplace<Body::kIgammac, Promote::kFloating>},
    other_name("aten::special_gammainc(Tensor self, Tensor other) -> Tensor", "aten::igamma"),
    other_name(
        "aten::special_gammainc.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::igamma.out"),
    other_name("aten::special_gammaincc(Tensor self, Tensor other) -> Tensor", "aten::igammac"),
    other_name(
        "aten::special_gammaincc.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::igammac.out"),
    {"aten::polygamma(int n, Tensor self) -> Tensor", pointwise_row<&k::polygamma>},
    {"aten::polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::polygamma>},
    {"aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", pointwise_inplace<&polygamma_of>},
    other_name("aten::special_polygamma(int n, Tensor self) -> Tensor", "aten::polygamma"),
    other_name("aten::special_polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
               "aten::polygamma.out"),
    {"aten::mvlgamma(Tensor self, int p) -> Tensor", boxed<&k::mvlgamma>},
    {"aten::mvlgamma.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)",
     out_variant<&k::mvlgamma>},
    {"aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)", inplace<&k::mvlgamma>},
    other_name("aten::special_multigammaln(Tensor self, int p) -> Tensor", "aten::mvlgamma"),
    other_name(
        "aten::special_multigammaln.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::mvlgamma.out"),
    {"aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
     pointwise_row<&k::round_decimals>},
    {"aten::special_round.out(Tensor self, *, int decimals=0, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::round_decimals>},
    {"aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", boxed<&k::frexp>},
    {"aten::frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> "
     "(Tensor(a!) mantissa, Tensor(b!) exponent)",
     out_variant<&k::frexp>},
};

}  // namespace

std::span<const OpRow> special_rows() { return kRows; }

}  // namespace tierup::ops
