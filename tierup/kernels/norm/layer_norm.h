// Normalisations of each sample by itself: layer_norm, rms_norm, group_norm; and renorm.
//
// f16 and bf16 compute in f32. Weight and bias may be undefined.
#pragma once

#include <optional>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::layer_norm over the last dimensions, whose sizes are `normalized_shape`; weight and bias
// have that shape. The native form also gives mean and 1 / standard deviation of each row.
Tensor layer_norm(const Tensor& input, const IntVector& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps);
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input,
                                                     const IntVector& normalized_shape,
                                                     const Tensor& weight, const Tensor& bias,
                                                     double eps);
// aten::rms_norm: x / sqrt(mean(x^2) + eps) * weight; eps defaults to the dtype's epsilon. The
// fused form, aten::_fused_rms_norm, also gives 1 / root mean square.
Tensor rms_norm(const Tensor& input, const IntVector& normalized_shape, const Tensor& weight,
                std::optional<double> eps);
std::tuple<Tensor, Tensor> fused_rms_norm(const Tensor& input, const IntVector& normalized_shape,
                                          const Tensor& weight, std::optional<double> eps);
// aten::group_norm of [N, C, *] with C divided into groups; weight and bias are [C].
Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps);
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const Tensor& weight,
                                                     const Tensor& bias, int64_t n, int64_t c,
                                                     int64_t hxw, int64_t group, double eps);
// aten::renorm: each slice along `dim` whose p-norm exceeds maxnorm is scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);

}  // namespace tierup::kernels
