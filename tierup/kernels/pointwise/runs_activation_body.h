// Vector runs of activations; compiled once for each instruction set.
#pragma once

#include "tierup/kernels/simd/simd_trigonometric.h"
// The functions over lanes stand before the bodies that call them.
#include "tierup/kernels/pointwise/scalar_bodies_backward.h"
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
  set_real<bodies::TanhBackward>(table, Body::kTanhBackward);
  set_real<bodies::SigmoidBackward>(table, Body::kSigmoidBackward);
  set_real<bodies::ThresholdBackward>(table, Body::kThresholdBackward);
  set_real<bodies::LeakyReluBackward>(table, Body::kLeakyReluBackward);
  set_real<bodies::HardtanhBackward>(table, Body::kHardtanhBackward);
  set_real<bodies::HardsigmoidBackward>(table, Body::kHardsigmoidBackward);
  set_real<bodies::HardswishBackward>(table, Body::kHardswishBackward);
  set_real<bodies::SoftplusBackward>(table, Body::kSoftplusBackward);
  set_real<bodies::LogSigmoidBackward>(table, Body::kLogSigmoidBackward);
  set_real<bodies::SiluBackward>(table, Body::kSiluBackward);
  set_real<bodies::MishBackward>(table, Body::kMishBackward);
  set_real<bodies::GeluErfBackward>(table, Body::kGeluErfBackward);
  set_real<bodies::GeluTanhBackward>(table, Body::kGeluTanhBackward);
  set_real<bodies::EluBackward>(table, Body::kEluBackward);
  set_real<bodies::EluResultBackward>(table, Body::kEluResultBackward);
  set_real<bodies::MseBackward>(table, Body::kMseBackward);
  set_real<bodies::GluGateBackward>(table, Body::kGluGateBackward);
  set_real<bodies::SlopeBackward>(table, Body::kSlopeBackward);
  set_real<bodies::SmoothL1Backward>(table, Body::kSmoothL1Backward);
  set_real<bodies::HuberBackward>(table, Body::kHuberBackward);
  set_real<bodies::SoftMarginBackward>(table, Body::kSoftMarginBackward);
  set_real<bodies::CrossEntropyBackward>(table, Body::kCrossEntropyBackward);
}

}  // namespace tierup::kernels::TIERUP_SIMD
