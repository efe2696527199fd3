// Quantisation: tensors as steps of a scale, and what such steps leave of a tensor.
//
// A zero point is the number of steps that zero is. Steps are counted by the inverse of the scale
// in single precision, halves to even, and lie in [quant_min, quant_max].
#pragma once

#include <optional>
#include <tuple>

#include "tierup/kernels/pointwise/pointwise.h"

namespace tierup::kernels {

// Throws kInvalidArgument unless quant_min <= quant_max, kOutOfRange for a zero point beyond them.
// Follows: fake_quantize_per_tensor_affine.
PointwiseCall fake_quantize(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                            int64_t quant_max);
// The same with the only elements of two tensors; their zero point may lie anywhere.
// Follows: fake_quantize_per_tensor_affine.tensor_qparams.
Tensor fake_quantize_by_tensors(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                int64_t quant_min, int64_t quant_max);
// One scale and zero point for each entry of a dimension; zero points are int32, or floats, which
// are added before steps are rounded. Throws kTypeError for other dtypes, kInvalidArgument for
// other sizes. Follows: fake_quantize_per_channel_affine.
Tensor fake_quantize_channels(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                              int64_t axis, int64_t quant_min, int64_t quant_max);

// The same with the places where self lies within the bounds, which gradients pass. Follow:
// fake_quantize_per_tensor_affine_cachemask,
// _fake_quantize_per_tensor_affine_cachemask_tensor_qparams (which leaves self as it is where
// `enabled` is zero), fake_quantize_per_channel_affine_cachemask.
std::tuple<Tensor, Tensor> fake_quantize_with_mask(const Tensor& self, double scale,
                                                   int64_t zero_point, int64_t quant_min,
                                                   int64_t quant_max);
std::tuple<Tensor, Tensor> fake_quantize_by_tensors_with_mask(const Tensor& self,
                                                              const Tensor& scale,
                                                              const Tensor& zero_point,
                                                              const Tensor& enabled,
                                                              int64_t quant_min, int64_t quant_max);
std::tuple<Tensor, Tensor> fake_quantize_channels_with_mask(const Tensor& self, const Tensor& scale,
                                                            const Tensor& zero_point, int64_t axis,
                                                            int64_t quant_min, int64_t quant_max);
// Throws kTypeError unless the mask is bool, kInvalidArgument if it has another number of elements.
PointwiseCall fake_quantize_backward(const Tensor& grad, const Tensor& mask);

// Steps as integers of `dtype`, within bounds that it holds. self is float32, or f16 or bf16.
// Follow: quantize_per_tensor, quantize_per_channel of the namespace quantized_decomposed.
Tensor quantize(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                int64_t quant_max, ScalarType dtype);
Tensor quantize_channels(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                         int64_t axis, int64_t quant_min, int64_t quant_max, ScalarType dtype);
// ... and the numbers that steps, which are of `dtype`, stand for: float32, or out_dtype. Without
// zero points these are zero. Follow: dequantize_per_tensor, dequantize_per_channel.
Tensor dequantize(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                  int64_t quant_max, ScalarType dtype, std::optional<ScalarType> out_dtype);
Tensor dequantize_channels(const Tensor& self, const Tensor& scales, const Tensor& zero_points,
                           int64_t axis, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                           std::optional<ScalarType> out_dtype);

}  // namespace tierup::kernels
