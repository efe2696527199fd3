// Reductions over segments and windows of one dimension.
#pragma once

#include <optional>
#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::segment_reduce: "sum", "mean", "prod", "max" or "min" over consecutive runs along `axis`,
// given by lengths or by offsets (one more than segments); leading dimensions of these match data.
// An empty segment gives `initial`, or the identity (NaN for the mean).
Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis, bool unsafe,
                      const std::optional<Scalar>& initial);
// aten::unfold_backward: adds up windows where they overlap, into zeros of `input_sizes`.
Tensor unfold_backward(const Tensor& grad, const IntVector& input_sizes, int64_t dim, int64_t size,
                       int64_t step);

}  // namespace tierup::kernels
