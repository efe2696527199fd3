// Convolutions in one, two and three dimensions, and their transposes.
//
// Input [N, C, *] or [C, *], weight [O, C / groups, *] (transposed: [C, O / groups, *]), optional
// bias [O]. The result is channels-last where PyTorch's is: if input or weight is. f32 planes go to
// plane_convolution.h, what that does not take to oneDNN; halves compute in f32; f64, integers and
// complex by patches and gemm.
#pragma once

#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::convolution: batched input; lists of one entry stand for all dimensions.
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const IntVector& stride, const IntVector& padding, const IntVector& dilation,
                   bool transposed, const IntVector& output_padding, int64_t groups);
// aten::conv1d, conv2d, conv3d, by the rank of the weight; input may lack the batch dimension.
Tensor conv(const Tensor& input, const Tensor& weight, const Tensor& bias, const IntVector& stride,
            const IntVector& padding, const IntVector& dilation, int64_t groups);
// The overloads with padding "valid" or "same".
Tensor conv_mode(const Tensor& input, const Tensor& weight, const Tensor& bias,
                 const IntVector& stride, std::string_view padding, const IntVector& dilation,
                 int64_t groups);
// aten::conv_transpose1d, conv_transpose2d.input, conv_transpose3d.input.
Tensor conv_transpose(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const IntVector& stride, const IntVector& padding,
                      const IntVector& output_padding, int64_t groups, const IntVector& dilation);
// aten::conv_tbc: input [time, batch, in], weight [kernel, in, out], bias [out].
Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad);

}  // namespace tierup::kernels
