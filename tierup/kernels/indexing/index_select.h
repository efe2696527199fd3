// Reading by one index tensor: gather, index_select, take.
#pragma once

#include <optional>
#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// The index as int64 (int32 is converted). Throws kInvalidArgument for other dtypes; `what` names
// the operator.
Tensor index_as_long(const Tensor& index, std::string_view what);

// aten::index_select: out[.., i, ..] = self[.., index[i], ..]. Throws kInvalidArgument unless index
// has at most one dimension, kOutOfRange for an index outside of [0, size).
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
// aten::gather: out[i][j] = self[i][index[i][j]] for dim 1. The index has the rank of self and no
// larger sizes apart from dim. Throws kOutOfRange for an index outside of [0, size).
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index);
// aten::take_along_dim: gather with the other dimensions broadcast; without dim, of both flattened.
// Along a dimension, indices are taken modulo its size.
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim);
// aten::take: self as if flattened, by indices that may be negative; the shape of the index.
Tensor take(const Tensor& self, const Tensor& index);

}  // namespace tierup::kernels
