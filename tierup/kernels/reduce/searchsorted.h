// Searching: bins by sorted boundaries, membership, distinct elements.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::searchsorted: for each value, where it would go in the sorted sequence (its last dimension;
// a vector serves all values): before equal elements, or behind them with `right` or side "right".
// `sorter`, if defined, sorts the sequence. int64, or int32 if wanted.
Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter);
// aten::bucketize: searchsorted in a vector of boundaries.
Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool out_int32, bool right);
// aten::isin: whether each element is among the test elements (or, inverted, is not).
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique, bool invert);

// (values, inverse, counts); what was not asked for is empty.
using UniqueResult = std::tuple<Tensor, Tensor, Tensor>;
// aten::_unique2: sorted distinct elements.
UniqueResult unique(const Tensor& self, bool sorted, bool return_inverse, bool return_counts);
// aten::unique_dim: distinct slices along dim, in lexicographic order; inverse and counts always.
UniqueResult unique_dim(const Tensor& self, int64_t dim, bool sorted, bool return_inverse,
                        bool return_counts);
// aten::unique_consecutive: only neighbours are compared; without dim, of the flattened tensor.
UniqueResult unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                                std::optional<int64_t> dim);

}  // namespace tierup::kernels
