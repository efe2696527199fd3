// Largest and smallest elements, their places, and truth over dimensions.
//
// NaN wins over every number, as in PyTorch; of equal elements the first is taken. Reducing an
// empty dimension throws kInvalidArgument (any and all give false and true).
#pragma once

#include <optional>
#include <tuple>

#include "tierup/kernels/reduce/reduce_plan.h"

namespace tierup::kernels {

// aten::amax, aten::amin.
Tensor amax(const Tensor& self, const IntVector& dims, bool keepdim);
Tensor amin(const Tensor& self, const IntVector& dims, bool keepdim);
// aten::max, aten::min without arguments.
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
// aten::aminmax: (min, max), along one dimension or over all.
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
// aten::max.dim, aten::min.dim: (values, int64 indices).
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim);
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim);
// aten::argmax, aten::argmin: without dim, of the flattened tensor.
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim);
// aten::any, aten::all: bool (uint8 for uint8). With `dims` empty nothing is reduced.
Tensor any(const Tensor& self);
Tensor all(const Tensor& self);
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim);
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim);
Tensor any_dims(const Tensor& self, const ReduceDims& dims, bool keepdim);
Tensor all_dims(const Tensor& self, const ReduceDims& dims, bool keepdim);

}  // namespace tierup::kernels
