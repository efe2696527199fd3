// Order statistics: medians, quantiles, the k-th smallest and the most frequent element.
//
// NaN sorts behind every number. Of equal elements, whose index is given is as in PyTorch not
// specified.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::median, nanmedian: the lower of two middle elements; NaN if there is one (median) or if
// there is nothing else (nanmedian).
Tensor median(const Tensor& self);
Tensor nanmedian(const Tensor& self);
// aten::median.dim, nanmedian.dim: (values, indices).
std::tuple<Tensor, Tensor> median_dim(const Tensor& self, int64_t dim, bool keepdim);
std::tuple<Tensor, Tensor> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim);
// aten::kthvalue: the k-th smallest, k from 1.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim);
// aten::mode: the most frequent, the smallest of several; the index of its last occurrence.
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim);

// aten::quantile, nanquantile: q in [0, 1], 0- or 1-dim, gives the first dimension of the result;
// interpolation "linear", "lower", "higher", "midpoint" or "nearest". f32 and f64 only.
Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation);
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation);
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation);
Tensor nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation);

}  // namespace tierup::kernels
