// Maximum over windows: max_pool, adaptive_max_pool, fractional_max_pool, and back: max_unpool.
//
// Indices are flat positions in the input's spatial dimensions; the first of equal maxima, and a
// NaN before all. The result keeps a channels-last layout.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

template <int kRank>
Tensor max_pool(const Tensor& self, const IntVector& kernel_size, const IntVector& stride,
                const IntVector& padding, const IntVector& dilation, bool ceil_mode);
template <int kRank>
std::tuple<Tensor, Tensor> max_pool_with_indices(const Tensor& self, const IntVector& kernel_size,
                                                 const IntVector& stride, const IntVector& padding,
                                                 const IntVector& dilation, bool ceil_mode);
template <int kRank>
std::tuple<Tensor, Tensor> adaptive_max_pool(const Tensor& self, const IntVector& output_size);

// aten::max_pool2d_with_indices_backward: grad_output summed at the indices of a zero tensor like
// self.
Tensor max_pool2d_backward(const Tensor& grad_output, const Tensor& self,
                           const IntVector& kernel_size, const IntVector& stride,
                           const IntVector& padding, const IntVector& dilation, bool ceil_mode,
                           const Tensor& indices);
// aten::fractional_max_pool2d, fractional_max_pool3d: windows start at positions that
// random_samples [N, C, rank], in [0, 1), decide.
template <int kRank>
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& self, const IntVector& kernel_size,
                                               const IntVector& output_size,
                                               const Tensor& random_samples);
// aten::max_unpool2d, max_unpool3d: zeros with each element at its index. Throws kOutOfRange for an
// index outside of the output.
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, const IntVector& output_size);
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, const IntVector& output_size,
                    const IntVector& stride, const IntVector& padding);

}  // namespace tierup::kernels
