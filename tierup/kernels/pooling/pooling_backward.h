// Gradients of pooling: what each window got is given back to the places that made it.
//
// Results have the sizes and layout of `self`, the input of the forward operator; f16 and bf16 sum
// in f32. Planes are spread over threads, each is summed in the order of its windows. Gradients
// that do not have the output's sizes throw kInvalidArgument.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// For all poolings that report indices, which are flat positions within the last `kRank`
// dimensions of `self`; one outside of them throws kOutOfRange. Follow: max_pool3d_with_indices_
// backward, adaptive_max_pool{2,3}d_backward, fractional_max_pool{2,3}d_backward.
template <int kRank>
Tensor scatter_to_maxima(const Tensor& grad, const Tensor& self, const Tensor& indices);

// aten::avg_pool2d_backward, avg_pool3d_backward; arguments as of the forward operator.
template <int kRank>
Tensor avg_pool_backward(const Tensor& grad, const Tensor& self, const IntVector& kernel_size,
                         const IntVector& stride, const IntVector& padding, bool ceil_mode,
                         bool count_include_pad, std::optional<int64_t> divisor_override);
// aten::_adaptive_avg_pool2d_backward, _adaptive_avg_pool3d_backward.
template <int kRank>
Tensor adaptive_avg_pool_backward(const Tensor& grad, const Tensor& self);

}  // namespace tierup::kernels
