// Vector runs of arithmetic and comparisons; compiled once for each instruction set.
#pragma once

#include "tierup/kernels/simd/simd.h"
// The functions over lanes stand before the bodies that call them.
#include "tierup/kernels/pointwise/scalar_bodies.h"
#include "tierup/kernels/pointwise/scalar_bodies_quantize.h"
#include "tierup/kernels/pointwise/vector_run.h"
#if !defined(TIERUP_EXPRESSION_LANES)
#include "tierup/kernels/pointwise/complex_run.h"
#include "tierup/kernels/pointwise/remainder_run.h"
#include "tierup/kernels/pointwise/whole_quotient_run.h"
#include "tierup/kernels/pointwise/whole_run.h"
#endif

namespace tierup::kernels::TIERUP_SIMD {

void add_arithmetic_runs(RunTable& table) {
  set_where<float>(table, ScalarType::kFloat);
  set_where<float>(table, ScalarType::kInt);
  set_where<double>(table, ScalarType::kDouble);
  set_where<double>(table, ScalarType::kLong);
  set_where<double>(table, ScalarType::kComplexFloat);
#if !defined(TIERUP_EXPRESSION_LANES)
  add_complex_vector_runs(table);
  add_remainder_runs(table);
  add_whole_runs(table);
  add_quotient_runs(table);
#endif
  set_real<bodies::Neg>(table, Body::kNeg);
  set_real<bodies::Abs>(table, Body::kAbs);
  set_real<bodies::Sign>(table, Body::kSign);
  set_real<bodies::Square>(table, Body::kSquare);
  set_real<bodies::Cube>(table, Body::kCube);
  set_real<bodies::Reciprocal>(table, Body::kReciprocal);
  set_real<bodies::Floor>(table, Body::kFloor);
  set_real<bodies::Ceil>(table, Body::kCeil);
  set_real<bodies::Trunc>(table, Body::kTrunc);
  set_real<bodies::Round>(table, Body::kRound);
  set_real<bodies::Frac>(table, Body::kFrac);
  set_real<bodies::Sqrt>(table, Body::kSqrt);
  set_real<bodies::Rsqrt>(table, Body::kRsqrt);
  set_real<bodies::Add>(table, Body::kAdd);
  set_real<bodies::Sub>(table, Body::kSub);
  set_real<bodies::Mul>(table, Body::kMul);
  set_real<bodies::Div>(table, Body::kDiv);
  set_real<bodies::AddScaled>(table, Body::kAddScaled);
  set_real<bodies::SubScaled>(table, Body::kSubScaled);
  set_real<bodies::DivTrunc>(table, Body::kDivTrunc);
  set_real<bodies::Maximum>(table, Body::kMaximum);
  set_real<bodies::Minimum>(table, Body::kMinimum);
  set_real<bodies::Fmax>(table, Body::kFmax);
  set_real<bodies::Fmin>(table, Body::kFmin);
  set_real<bodies::Clamp>(table, Body::kClamp);
  set_real<bodies::Copysign>(table, Body::kCopysign);
  set_real<bodies::Heaviside>(table, Body::kHeaviside);
  set_real<bodies::Lerp>(table, Body::kLerp);
  set_real<bodies::Addcmul>(table, Body::kAddcmul);
  set_real<bodies::Addcdiv>(table, Body::kAddcdiv);
  set_real<bodies::NanToNum>(table, Body::kNanToNum);
  set_real<bodies::RoundScaled>(table, Body::kRoundScaled);
  set_real<bodies::RoundDivided>(table, Body::kRoundDivided);
  set_real<bodies::Quantize>(table, Body::kQuantize);
  set_real<bodies::Dequantize>(table, Body::kDequantize);
  set_real<bodies::FakeQuantize>(table, Body::kFakeQuantize);
  set_real_predicate<bodies::FakeQuantizeFits>(table, Body::kFakeQuantizeFits);
  set_real_predicate<bodies::Eq>(table, Body::kEq);
  set_real_predicate<bodies::Ne>(table, Body::kNe);
  set_real_predicate<bodies::Lt>(table, Body::kLt);
  set_real_predicate<bodies::Le>(table, Body::kLe);
  set_real_predicate<bodies::Gt>(table, Body::kGt);
  set_real_predicate<bodies::Ge>(table, Body::kGe);
  set_real_predicate<bodies::IsNan>(table, Body::kIsNan);
  set_real_predicate<bodies::IsInf>(table, Body::kIsInf);
  set_real_predicate<bodies::IsFinite>(table, Body::kIsFinite);
  set_real_predicate<bodies::IsPosInf>(table, Body::kIsPosInf);
  set_real_predicate<bodies::IsNegInf>(table, Body::kIsNegInf);
}

}  // namespace tierup::kernels::TIERUP_SIMD
