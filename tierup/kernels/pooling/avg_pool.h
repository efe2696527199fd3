// Mean over windows: avg_pool and adaptive_avg_pool. f16 and bf16 sum in f32; integers divide as
// integers. The result keeps a channels-last layout.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::avg_pool1d, avg_pool2d, avg_pool3d. The divisor is divisor_override, or the size of the
// window with or without its part in the padding.
template <int kRank>
Tensor avg_pool(const Tensor& self, const IntVector& kernel_size, const IntVector& stride,
                const IntVector& padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override);
Tensor avg_pool1d(const Tensor& self, const IntVector& kernel_size, const IntVector& stride,
                  const IntVector& padding, bool ceil_mode, bool count_include_pad);
// aten::_adaptive_avg_pool2d, _adaptive_avg_pool3d.
template <int kRank>
Tensor adaptive_avg_pool(const Tensor& self, const IntVector& output_size);
// aten::adaptive_avg_pool1d, 2d, 3d: one place is the mean of all points, NaN where there are none.
template <int kRank>
Tensor adaptive_avg_pool_or_mean(const Tensor& self, const IntVector& output_size);

}  // namespace tierup::kernels
