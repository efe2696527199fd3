// Normalisations by statistics of channels: batch_norm in its forms and instance_norm.
//
// Input is [N, C, *]. Weight, bias and running statistics are [C] and may be undefined, but for
// running statistics where they are needed; they may be f32 beside f16 and bf16 input.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::batch_norm. In training the batch's own mean and variance are used, and running statistics,
// if given, move towards them by `momentum` (the variance unbiased); otherwise they are used.
Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps);
// The same for an input that nobody reads afterwards: without training, the result takes its memory
// if it can.
Tensor batch_norm_of_dying(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum, double eps);
// aten::native_batch_norm: also mean and 1 / standard deviation of the batch (empty if not
// training).
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const Tensor& weight,
                                                     const Tensor& bias, const Tensor& running_mean,
                                                     const Tensor& running_var, bool training,
                                                     double momentum, double eps);
// aten::_native_batch_norm_legit.no_stats: without running statistics.
std::tuple<Tensor, Tensor, Tensor> batch_norm_no_stats(const Tensor& input, const Tensor& weight,
                                                       const Tensor& bias, bool training,
                                                       double momentum, double eps);
// aten::_native_batch_norm_legit_no_training.
std::tuple<Tensor, Tensor, Tensor> batch_norm_no_training(const Tensor& input, const Tensor& weight,
                                                          const Tensor& bias,
                                                          const Tensor& running_mean,
                                                          const Tensor& running_var,
                                                          double momentum, double eps);
// aten::_batch_norm_with_update: training, with an empty reserve tensor as fourth result.
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps);
// aten::instance_norm: statistics of each sample and channel, or the running ones.
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps);

}  // namespace tierup::kernels
