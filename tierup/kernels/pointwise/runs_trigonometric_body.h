// Vector runs of trigonometric, hyperbolic and error functions; compiled once for each instruction
// set.
#pragma once

#include "tierup/kernels/simd/simd_trigonometric.h"
// The functions over lanes stand before the bodies that call them.
#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/vector_run.h"

namespace tierup::kernels::TIERUP_SIMD {

void add_trigonometric_runs(RunTable& table) {
  set_real<bodies::Sin>(table, Body::kSin);
  set_real<bodies::Cos>(table, Body::kCos);
  set_real<bodies::Sinc>(table, Body::kSinc);
  set_real<bodies::Tan>(table, Body::kTan);
  set_real<bodies::Erf>(table, Body::kErf);
  set_real<bodies::Asin>(table, Body::kAsin);
  set_real<bodies::Acos>(table, Body::kAcos);
  set_real<bodies::Atan>(table, Body::kAtan);
  set_real<bodies::Atan2>(table, Body::kAtan2);
  set_real<bodies::Sinh>(table, Body::kSinh);
  set_real<bodies::Cosh>(table, Body::kCosh);
  set_real<bodies::Asinh>(table, Body::kAsinh);
  set_float<bodies::Acosh>(table, Body::kAcosh);
  set_real<bodies::Atanh>(table, Body::kAtanh);
  set_float<bodies::Erfc>(table, Body::kErfc);
}

}  // namespace tierup::kernels::TIERUP_SIMD
