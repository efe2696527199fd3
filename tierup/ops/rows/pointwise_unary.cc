// Functions of one tensor.
#include "tierup/ops/rows/pointwise_rows.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

namespace k = kernels;

// The magnitude of a complex number is real.
void abs_inplace(OpCall& call) {
  require(!is_complex(call.args[0].to_tensor().dtype()), ErrorCode::kUnsupported,
          "abs_: complex tensors are not supported in-place");
  body_inplace<Body::kAbs>(call);
}

constexpr OpRow kRows[] = {
    TIERUP_FUNCTION_ROWS("abs", Body::kAbs),
    TIERUP_OTHER_FUNCTION("absolute", "abs"),
    {"aten::abs_(Tensor(a!) self) -> Tensor(a!)", &abs_inplace},
    other_name("aten::absolute_(Tensor(a!) self) -> Tensor(a!)", "aten::abs_"),
    {"prim::abs(Tensor x) -> Tensor", body_row<Body::kAbs>},
    TIERUP_UNARY_ROWS("sign", Body::kSign),
    TIERUP_NET_ROWS(kReciprocal, "reciprocal", Body::kReciprocal, Promote::kFloating),
    TIERUP_UNARY_ROWS("floor", Body::kFloor),
    TIERUP_UNARY_ROWS("ceil", Body::kCeil),
    TIERUP_UNARY_ROWS("trunc", Body::kTrunc),
    TIERUP_OTHER_UNARY("fix", "trunc"),
    TIERUP_UNARY_ROWS("frac", Body::kFrac),
    TIERUP_NET_ROWS(kSqrt, "sqrt", Body::kSqrt, Promote::kFloating),
    TIERUP_NET_ROWS(kRsqrt, "rsqrt", Body::kRsqrt, Promote::kFloating),
    TIERUP_UNARY_ROWS("exp", Body::kExp, Promote::kFloating),
    TIERUP_UNARY_ROWS("exp2", Body::kExp2, Promote::kFloating),
    TIERUP_UNARY_ROWS("expm1", Body::kExpm1, Promote::kFloating),
    TIERUP_UNARY_ROWS("log", Body::kLog, Promote::kFloating),
    TIERUP_UNARY_ROWS("log2", Body::kLog2, Promote::kFloating),
    TIERUP_UNARY_ROWS("log10", Body::kLog10, Promote::kFloating),
    TIERUP_UNARY_ROWS("log1p", Body::kLog1p, Promote::kFloating),
    TIERUP_UNARY_ROWS("sin", Body::kSin, Promote::kFloating),
    TIERUP_UNARY_ROWS("cos", Body::kCos, Promote::kFloating),
    TIERUP_UNARY_ROWS("tan", Body::kTan, Promote::kFloating),
    TIERUP_UNARY_ROWS("asin", Body::kAsin, Promote::kFloating),
    TIERUP_UNARY_ROWS("acos", Body::kAcos, Promote::kFloating),
    TIERUP_UNARY_ROWS("atan", Body::kAtan, Promote::kFloating),
    TIERUP_OTHER_UNARY("arcsin", "asin"),
    TIERUP_OTHER_UNARY("arccos", "acos"),
    TIERUP_OTHER_UNARY("arctan", "atan"),
    TIERUP_UNARY_ROWS("sinh", Body::kSinh, Promote::kFloating),
    TIERUP_UNARY_ROWS("cosh", Body::kCosh, Promote::kFloating),
    TIERUP_NET_ROWS(kTanh, "tanh", Body::kTanh, Promote::kFloating),
    TIERUP_UNARY_ROWS("asinh", Body::kAsinh, Promote::kFloating),
    TIERUP_UNARY_ROWS("acosh", Body::kAcosh, Promote::kFloating),
    TIERUP_UNARY_ROWS("atanh", Body::kAtanh, Promote::kFloating),
    TIERUP_OTHER_UNARY("arcsinh", "asinh"),
    TIERUP_OTHER_UNARY("arccosh", "acosh"),
    TIERUP_OTHER_UNARY("arctanh", "atanh"),
    TIERUP_NET_ROWS(kSigmoid, "sigmoid", Body::kSigmoid, Promote::kFloating),
    TIERUP_UNARY_ROWS("erf", Body::kErf, Promote::kFloating),
    TIERUP_UNARY_ROWS("erfc", Body::kErfc, Promote::kFloating),
    TIERUP_UNARY_ROWS("sinc", Body::kSinc, Promote::kFloating),
    TIERUP_FUNCTION_ROWS("angle", Body::kAngle, Promote::kFloating),
    TIERUP_UNARY_ROWS("bitwise_not", Body::kBitNot),
    TIERUP_OTHER_FUNCTION("special_exp2", "exp2"),
    TIERUP_OTHER_FUNCTION("special_expm1", "expm1"),
    TIERUP_OTHER_FUNCTION("special_expit", "sigmoid"),
    TIERUP_OTHER_FUNCTION("special_log1p", "log1p"),
    TIERUP_OTHER_FUNCTION("special_erf", "erf"),
    TIERUP_OTHER_FUNCTION("special_erfc", "erfc"),
    TIERUP_OTHER_FUNCTION("special_sinc", "sinc"),
    {"aten::round(Tensor self) -> Tensor", body_row<Body::kRound>},
    {"aten::round.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", body_out<Body::kRound>},
    {"aten::round_(Tensor(a!) self) -> Tensor(a!)", body_inplace<Body::kRound>},
    {"aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
     pointwise_row<&k::round_decimals>},
    {"aten::round.decimals_out(Tensor self, *, int decimals, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::round_decimals>},
    {"aten::round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)",
     pointwise_inplace<&k::round_decimals>},
    {"aten::square(Tensor self) -> Tensor", pointwise_row<&k::square>},
    {"aten::square.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", pointwise_out<&k::square>},
    {"aten::square_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::square>},
    {"aten::neg(Tensor self) -> Tensor", pointwise_row<&k::neg>, ir::kNoEffect, nullptr,
     facts(OpKind::kNeg)},
    {"aten::neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", pointwise_out<&k::neg>},
    {"aten::neg_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::neg>, ir::kNoEffect,
     nullptr, facts(OpKind::kNeg)},
    other_name("aten::negative(Tensor self) -> Tensor", "aten::neg"),
    other_name("aten::negative.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "aten::neg.out"),
    other_name("aten::negative_(Tensor(a!) self) -> Tensor(a!)", "aten::neg_"),
    {"aten::sgn(Tensor self) -> Tensor", pointwise_row<&k::sgn>},
    {"aten::sgn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", pointwise_out<&k::sgn>},
    {"aten::sgn_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::sgn>},
    {"aten::deg2rad(Tensor self) -> Tensor", pointwise_row<&k::deg2rad>},
    {"aten::deg2rad.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", pointwise_out<&k::deg2rad>},
    {"aten::deg2rad_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::deg2rad>},
    {"aten::rad2deg(Tensor self) -> Tensor", pointwise_row<&k::rad2deg>},
    {"aten::rad2deg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", pointwise_out<&k::rad2deg>},
    {"aten::rad2deg_(Tensor(a!) self) -> Tensor(a!)", pointwise_inplace<&k::rad2deg>},
    {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> "
     "Tensor",
     pointwise_row<&k::nan_to_num>},
    {"aten::nan_to_num.out(Tensor self, float? nan=None, float? posinf=None, float? neginf=None, "
     "*, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::nan_to_num>},
    {"aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) "
     "-> Tensor(a!)",
     pointwise_inplace<&k::nan_to_num>},
    {"aten::logit(Tensor self, float? eps=None) -> Tensor", pointwise_row<&k::logit>},
    {"aten::logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)",
     pointwise_out<&k::logit>},
    {"aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)", pointwise_inplace<&k::logit>},
    other_name("aten::special_logit(Tensor self, float? eps=None) -> Tensor", "aten::logit"),
    other_name(
        "aten::special_logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::logit.out"),
};

}  // namespace

std::span<const OpRow> pointwise_unary_rows() { return kRows; }

}  // namespace tierup::ops
