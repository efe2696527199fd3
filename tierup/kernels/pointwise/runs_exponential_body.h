// Vector runs of exponentials and logarithms; compiled once for each instruction set.
#pragma once

#include "tierup/kernels/simd/simd_exponential.h"
// The functions over lanes stand before the bodies that call them.
#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/vector_run.h"

namespace tierup::kernels::TIERUP_SIMD {

void add_exponential_runs(RunTable& table) {
  set_real<bodies::Exp>(table, Body::kExp);
  set_real<bodies::Exp2>(table, Body::kExp2);
  set_real<bodies::Expm1>(table, Body::kExpm1);
  set_real<bodies::Log>(table, Body::kLog);
  set_real<bodies::Log2>(table, Body::kLog2);
  set_real<bodies::Log10>(table, Body::kLog10);
  set_real<bodies::Log1p>(table, Body::kLog1p);
  set_real<bodies::Sigmoid>(table, Body::kSigmoid);
  set_real<bodies::Tanh>(table, Body::kTanh);
  set_real<bodies::Xlogy>(table, Body::kXlogy);
  set_real<bodies::Xlog1py>(table, Body::kXlog1py);
  set_real<bodies::Logaddexp>(table, Body::kLogaddexp);
  set_real<bodies::Logaddexp2>(table, Body::kLogaddexp2);
  set_real<bodies::Logit>(table, Body::kLogit);
  set_float<bodies::Pow>(table, Body::kPow);
  set_real<bodies::Hypot>(table, Body::kHypot);
}

}  // namespace tierup::kernels::TIERUP_SIMD
