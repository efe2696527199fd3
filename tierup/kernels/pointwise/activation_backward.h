// Gradients of activations and of element-wise losses, each one pass over memory.
//
// `grad` is the gradient of the result and is broadcast with the other operands, in their promoted
// dtype; f16 and bf16 compute in f32. At kinks and bounds they give what the reference gives.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Follow their operators' names.
Tensor tanh_backward(const Tensor& grad, const Tensor& output);
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output);
Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold);
Tensor hardtanh_backward(const Tensor& grad, const Tensor& self, const Scalar& low,
                         const Scalar& high);
Tensor hardsigmoid_backward(const Tensor& grad, const Tensor& self);
Tensor hardswish_backward(const Tensor& grad, const Tensor& self);
// aten::hardshrink_backward, aten::softshrink_backward.
Tensor shrink_backward(const Tensor& grad, const Tensor& self, const Scalar& lambda);
Tensor softplus_backward(const Tensor& grad, const Tensor& self, const Scalar& beta,
                         const Scalar& threshold);
// `buffer` is exp(-|self|).
Tensor log_sigmoid_backward(const Tensor& grad, const Tensor& self, const Tensor& buffer);
Tensor silu_backward(const Tensor& grad, const Tensor& self);
Tensor mish_backward(const Tensor& grad, const Tensor& self);
// aten::gelu_backward: approximate "none" or "tanh"; throws kInvalidArgument for others.
Tensor gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate);
// aten::elu_backward, of the input, or of the result if `is_result` (alpha must not be negative).
Tensor elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                    const Scalar& input_scale, bool is_result, const Tensor& self_or_result);
// aten::leaky_relu_backward: the sign of the result is that of the input for slopes >= 0.
Tensor leaky_relu_backward(const Tensor& grad, const Tensor& self, const Scalar& slope,
                           bool self_is_result);
// aten::rrelu_with_noise_backward: the slopes of training are the noise, else their mean.
Tensor rrelu_backward(const Tensor& grad, const Tensor& self, const Tensor& noise,
                      const Scalar& lower, const Scalar& upper, bool training, bool self_is_result);
Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps);
// aten::glu_backward: both halves of `dim`, for the value and for the gate.
Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim);
// aten::_prelu_kernel_backward: for self and, not yet summed over what was broadcast, for weight.
std::tuple<Tensor, Tensor> prelu_kernel_backward(const Tensor& grad, const Tensor& self,
                                                 const Tensor& weight);

// For losses: `reduction` 1 divides by the number of elements of `self`.
Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         int64_t reduction);
Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t reduction, double beta);
Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                           int64_t reduction, double delta);
Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                 int64_t reduction);
// aten::binary_cross_entropy_backward: x (1 - x) divides, but at least 1e-12. `weight` may be
// undefined.
Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const Tensor& weight, int64_t reduction);

}  // namespace tierup::kernels
