// Histograms and counts.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::bincount: how often each integer occurs in a vector, or the sum of its weights (f32 stays,
// others become f64); at least `minlength` bins. Throws kInvalidArgument for negative numbers.
Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength);
// aten::histc: `bins` equal bins over [min, max], or over the data if both are equal; what lies
// outside does not count. The dtype of self.
Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max);
// aten::histogram: (hist, edges) over given edges, or `bins` equal bins over a range (that of the
// data by default). `density` divides by bin width and total.
std::tuple<Tensor, Tensor> histogram_edges(const Tensor& self, const Tensor& edges,
                                           const Tensor& weight, bool density);
std::tuple<Tensor, Tensor> histogram_count(const Tensor& self, int64_t bins,
                                           const std::optional<std::vector<double>>& range,
                                           const Tensor& weight, bool density);
// aten::histogramdd of points in the last dimension: (hist, edges of each coordinate).
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, const IntVector& bins,
                                                    const std::optional<std::vector<double>>& range,
                                                    const Tensor& weight, bool density);
std::tuple<Tensor, std::vector<Tensor>> histogramdd_edges(
    const Tensor& self, const std::vector<Tensor>& edges,
    const std::optional<std::vector<double>>& range, const Tensor& weight, bool density);
// aten::_histogramdd_bin_edges.
std::vector<Tensor> histogramdd_bin_edges(const Tensor& self, const IntVector& bins,
                                          const std::optional<std::vector<double>>& range);

}  // namespace tierup::kernels
