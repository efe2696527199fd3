// Masks: selecting, scattering and counting by boolean tensors, and the places of nonzeros.
#pragma once

#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::nonzero, aten::argwhere: int64 [count, rank], in row-major order.
Tensor nonzero(const Tensor& self);
// aten::nonzero_numpy, aten::where(condition): one vector for each dimension (a 0-dim tensor counts
// as one element).
std::vector<Tensor> nonzero_numpy(const Tensor& self);
// aten::nonzero_static: exactly `size` rows, cut off or filled up with `fill_value`.
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value);
// aten::masked_select: both broadcast; a vector.
Tensor masked_select(const Tensor& self, const Tensor& mask);
// aten::masked_scatter_: elements of `source` in order go where the mask is true. Throws
// kInvalidArgument if there are too few, or dtypes differ.
void masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source);
// aten::masked_scatter: the same on a copy of self broadcast with the mask.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);
// Writes `value` where the mask, broadcast to `target`, is false, or zero if it has another dtype.
void fill_where_false(const Tensor& target, const Tensor& mask, const Scalar& value);
// aten::one_hot: int64, with a new last dimension of num_classes (-1: the largest class + 1).
Tensor one_hot(const Tensor& self, int64_t num_classes);

}  // namespace tierup::kernels
