// Writing by one index tensor: scatter, index_add and their kin.
//
// All functions write to their first argument and return nothing; the caller clones for the
// out-of-place operators. Repeated indices are applied in the order of the index, so the result
// does not depend on threads. An index outside of the dimension throws kOutOfRange.
#pragma once

#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::scatter_.src, .value: self[index[i][j]][j] = src[i][j] for dim 0. The sizes of the index
// must not exceed those of src, nor, apart from dim, those of self; dtypes must be equal.
void scatter_src_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
void scatter_value_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
// aten::scatter_.reduce, .value_reduce: mode "add" or "multiply".
void scatter_src_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce);
void scatter_value_reduce_(const Tensor& self, int64_t dim, const Tensor& index,
                           const Scalar& value, std::string_view reduce);
void scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
// aten::scatter_reduce_.two: mode "sum", "prod", "mean", "amax" or "amin"; without include_self the
// old values of the elements written to do not count.
void scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                     std::string_view reduce, bool include_self);

// aten::index_add_: self[.., index[i], ..] += alpha * source[.., i, ..].
void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Scalar& alpha);
// aten::index_copy_.
void index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
// aten::index_fill_: indices may be negative.
void index_fill_scalar_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
void index_fill_tensor_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value);
// aten::index_reduce_: mode "prod", "mean", "amax" or "amin".
void index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                   std::string_view reduce, bool include_self);

// aten::put_: self as if flattened, by indices that may be negative.
void put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate);

}  // namespace tierup::kernels
