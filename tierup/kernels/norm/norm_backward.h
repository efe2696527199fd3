// Gradients of normalisations (layer_norm.h, batch_norm.h).
//
// With x^ = (x - mean) * rstd and G = weight * grad: dx = rstd (G - mean(G) - x^ mean(G x^)) over
// what one pair of statistics was taken from, d weight = sum grad x^, d bias = sum grad.
// `output_mask` says which of the three results are wanted; the others are undefined. f16 and bf16
// compute in f32; sums are taken in double, in one fixed order. Shapes that do not fit throw
// kInvalidArgument.
#pragma once

#include <tuple>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

using NormGradients = std::tuple<Tensor, Tensor, Tensor>;

// aten::native_layer_norm_backward: mean and rstd as native_layer_norm gave them; weight and bias
// may be undefined.
NormGradients layer_norm_backward(const Tensor& grad, const Tensor& input,
                                  const IntVector& normalized_shape, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                                  const std::vector<bool>& output_mask);
// aten::native_group_norm_backward: input [n, c, hxw], mean and rstd [n, group].
NormGradients group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, int64_t n, int64_t c,
                                  int64_t hxw, int64_t group, const std::vector<bool>& output_mask);
// aten::native_batch_norm_backward: with `train` by the batch's mean and 1 / standard deviation,
// else by the running statistics, which are then constants.
NormGradients batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                  const Tensor& running_mean, const Tensor& running_var,
                                  const Tensor& save_mean, const Tensor& save_invstd, bool train,
                                  double eps, const std::vector<bool>& output_mask);

}  // namespace tierup::kernels
