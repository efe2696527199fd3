// Gradients of convolutions.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::convolution_backward: for input, weight and bias; arguments as of aten::convolution, whose
// result `grad` has the sizes of. What `output_mask` does not ask for is undefined. The input's
// gradient is the transposed convolution, the weight's a correlation: f32 by oneDNN, halves in f32,
// f64 by patches and gemm. Throws kInvalidArgument for sizes that do not fit.
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<IntVector>& bias_sizes, const IntVector& stride, const IntVector& padding,
    const IntVector& dilation, bool transposed, const IntVector& output_padding, int64_t groups,
    const std::vector<bool>& output_mask);

}  // namespace tierup::kernels
