// Scans: running sums, products and extrema along a dimension.
#pragma once

#include <optional>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::cumsum, aten::cumprod: integers and bool give int64 unless `dtype` says otherwise; f32 runs
// in double, f16 and bf16 in f32, rounded at each element.
Tensor cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype);
// aten::cummax, aten::cummin: (values, int64 indices); of equal elements the last one counts, and a
// NaN stays from its place on.
std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim);
// aten::logcumsumexp.
Tensor logcumsumexp(const Tensor& self, int64_t dim);

}  // namespace tierup::kernels
