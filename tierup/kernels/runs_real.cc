// Runs over float and double.
#include "tierup/kernels/scalar_bodies_math.h"
#include "tierup/kernels/scalar_run.h"

namespace tierup::kernels {
namespace {

template <typename Op>
void set_real(RunTable& table, Body body) {
  set_scalar<Op, float, double>(table, body);
}
template <typename Op>
void set_real_predicate(RunTable& table, Body body) {
  set_predicate<Op, float, double>(table, body);
}

}  // namespace

#define REAL(name) set_real<bodies::name>(table, Body::k##name)
#define PREDICATE(name) set_real_predicate<bodies::name>(table, Body::k##name)

void add_arithmetic_runs(RunTable& table) {
  REAL(Neg), REAL(Abs), REAL(Sign), REAL(Square), REAL(Cube), REAL(Reciprocal), REAL(Floor);
  REAL(Ceil), REAL(Trunc), REAL(Round), REAL(Frac), REAL(Sqrt), REAL(Rsqrt), REAL(Add), REAL(Sub);
  REAL(Mul), REAL(Div), REAL(AddScaled), REAL(SubScaled), REAL(DivTrunc), REAL(Maximum);
  REAL(Minimum), REAL(Fmax), REAL(Fmin), REAL(Clamp), REAL(Copysign), REAL(Heaviside), REAL(Lerp);
  REAL(Addcmul), REAL(Addcdiv), REAL(NanToNum), REAL(RoundScaled), REAL(RoundDivided);
  PREDICATE(Eq), PREDICATE(Ne), PREDICATE(Lt), PREDICATE(Le), PREDICATE(Gt), PREDICATE(Ge);
  PREDICATE(IsNan), PREDICATE(IsInf), PREDICATE(IsFinite), PREDICATE(IsPosInf), PREDICATE(IsNegInf);
}

void add_elementary_runs(RunTable& table) {
  REAL(Exp), REAL(Exp2), REAL(Expm1), REAL(Log), REAL(Log2), REAL(Log10), REAL(Log1p), REAL(Sin);
  REAL(Cos), REAL(Tan), REAL(Asin), REAL(Acos), REAL(Atan), REAL(Sinh), REAL(Cosh), REAL(Tanh);
  REAL(Asinh), REAL(Acosh), REAL(Atanh), REAL(Atan2), REAL(Sigmoid), REAL(Erf), REAL(Erfc);
  REAL(Sinc), REAL(Logit), REAL(Xlogy), REAL(Xlog1py), REAL(Logaddexp), REAL(Logaddexp2), REAL(Pow);
}

void add_activation_runs(RunTable& table) {
  REAL(Relu), REAL(GeluErf), REAL(GeluTanh), REAL(Silu), REAL(Mish), REAL(Elu), REAL(Hardswish);
  REAL(Hardsigmoid), REAL(LeakyRelu), REAL(Softplus), REAL(Softshrink), REAL(Hardshrink);
  REAL(Threshold), REAL(LogSigmoid), REAL(Glu);
}

#undef REAL
#undef PREDICATE

}  // namespace tierup::kernels
