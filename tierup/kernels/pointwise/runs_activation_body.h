// Vector runs of activations; compiled once for each instruction set.
#pragma once

#include "tierup/kernels/simd/simd_trigonometric.h"
// The functions over lanes stand before the bodies that call them.
#include "tierup/kernels/pointwise/scalar_bodies_math.h"
#include "tierup/kernels/pointwise/vector_run.h"

namespace tierup::kernels::TIERUP_SIMD {

void add_activation_runs(RunTable& table) {
  set_real<bodies::Relu>(table, Body::kRelu);
  set_real<bodies::GeluErf>(table, Body::kGeluErf);
  set_real<bodies::GeluTanh>(table, Body::kGeluTanh);
  set_real<bodies::Silu>(table, Body::kSilu);
  set_real<bodies::Mish>(table, Body::kMish);
  set_real<bodies::Elu>(table, Body::kElu);
  set_real<bodies::Hardswish>(table, Body::kHardswish);
  set_real<bodies::Hardsigmoid>(table, Body::kHardsigmoid);
  set_real<bodies::LeakyRelu>(table, Body::kLeakyRelu);
  set_real<bodies::Softplus>(table, Body::kSoftplus);
  set_real<bodies::Softshrink>(table, Body::kSoftshrink);
  set_real<bodies::Hardshrink>(table, Body::kHardshrink);
  set_real<bodies::Threshold>(table, Body::kThreshold);
  set_real<bodies::LogSigmoid>(table, Body::kLogSigmoid);
  set_real<bodies::Glu>(table, Body::kGlu);
}

}  // namespace tierup::kernels::TIERUP_SIMD
