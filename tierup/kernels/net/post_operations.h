// Activations as oneDNN's post-operations.
#pragma once

#include <dnnl.hpp>

#include "tierup/kernels/net/layers.h"

namespace tierup::kernels::net {

struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha;
  float beta;
};

inline Eltwise eltwise_of(const Activation& a) {
  using dnnl::algorithm;
  switch (a.function) {
    case Function::kRelu: return {algorithm::eltwise_relu, a.alpha, 0};
    case Function::kElu: return {algorithm::eltwise_elu, a.alpha, 0};
    case Function::kClip: return {algorithm::eltwise_clip, a.alpha, a.beta};
    case Function::kLinear: return {algorithm::eltwise_linear, a.alpha, a.beta};
    case Function::kSwish: return {algorithm::eltwise_swish, a.alpha, 0};
    case Function::kHardswish: return {algorithm::eltwise_hardswish, 0, 0};
    case Function::kSigmoid: return {algorithm::eltwise_logistic, 0, 0};
    case Function::kTanh: return {algorithm::eltwise_tanh, 0, 0};
    case Function::kGeluErf: return {algorithm::eltwise_gelu_erf, 0, 0};
    case Function::kGeluTanh: return {algorithm::eltwise_gelu_tanh, 0, 0};
  }
  return {algorithm::eltwise_relu, 0, 0};
}

inline void append(dnnl::post_ops& operations, const Activation& activation) {
  const Eltwise e = eltwise_of(activation);
  operations.append_eltwise(1, e.algorithm, e.alpha, e.beta);
}

}  // namespace tierup::kernels::net
