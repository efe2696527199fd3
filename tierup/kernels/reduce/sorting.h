// Sorting along a dimension. NaN counts as larger than every number.
#pragma once

#include <optional>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::sort, sort.stable: (values, int64 indices); always stable.
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending);
// aten::argsort.
Tensor argsort(const Tensor& self, int64_t dim, bool descending);
// aten::msort: along the first dimension.
Tensor msort(const Tensor& self);
// aten::topk: the k largest or smallest; in order if `sorted`. Throws kInvalidArgument for k
// outside of the dimension.
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest,
                                bool sorted);

}  // namespace tierup::kernels
