// Softmax and its logarithm along one dimension. f16 and bf16 compute in f32.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::softmax.int, aten::log_softmax.int: the input is converted to `dtype` first, if given.
// Throws kTypeError for integers without one.
Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
// aten::_softmax, aten::_log_softmax: `half_to_float` makes the result of f16 input f32.
Tensor softmax_raw(const Tensor& self, int64_t dim, bool half_to_float);
Tensor log_softmax_raw(const Tensor& self, int64_t dim, bool half_to_float);
// aten::_safe_softmax: rows of nothing but -inf give zeros.
Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
// aten::_softmax_backward_data, aten::_log_softmax_backward_data.
Tensor softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim,
                        ScalarType input_dtype);
Tensor log_softmax_backward(const Tensor& grad_output, const Tensor& output, int64_t dim,
                            ScalarType input_dtype);

// aten::logsumexp: integers in f32. Adjacent dimensions of real numbers go by the kernels of rows,
// or of columns, which read their input twice and store nothing between.
Tensor logsumexp(const Tensor& self, const IntVector& dims, bool keepdim);

}  // namespace tierup::kernels
