// Sums, means, products and their like.
//
// Integers and bool sum to int64, f16 and bf16 in f32. `dtype`, if given, converts the elements
// first and is the result's.
#pragma once

#include <optional>

#include "tierup/kernels/reduce/reduce_plan.h"

namespace tierup::kernels {

// aten::sum, .dim_IntList.
Tensor sum(const Tensor& self, const ReduceDims& dims, bool keepdim,
           std::optional<ScalarType> dtype);
// aten::nansum: NaN counts as 0.
Tensor nansum(const Tensor& self, const ReduceDims& dims, bool keepdim,
              std::optional<ScalarType> dtype);
// aten::mean: floating and complex types only.
Tensor mean(const Tensor& self, const ReduceDims& dims, bool keepdim,
            std::optional<ScalarType> dtype);
// aten::nanmean: the mean of what is not NaN.
Tensor nanmean(const Tensor& self, const ReduceDims& dims, bool keepdim,
               std::optional<ScalarType> dtype);
// aten::prod, .dim_int.
Tensor prod(const Tensor& self, const ReduceDims& dims, bool keepdim,
            std::optional<ScalarType> dtype);
// aten::count_nonzero: int64.
Tensor count_nonzero(const Tensor& self, const ReduceDims& dims, bool keepdim);
// aten::sum_to_size: sums broadcast dimensions back to `size`.
Tensor sum_to_size(const Tensor& self, const IntVector& size);
// aten::trace: the sum of the diagonal of a matrix.
Tensor trace(const Tensor& self);

}  // namespace tierup::kernels
