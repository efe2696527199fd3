// Views: operators that only make new sizes, strides and offsets over the same storage.
//
// Nothing here reads or writes an element, except reshape and flatten, which copy where no view
// exists. Lazy conjugate and negative bits are kept. Dimensions may be negative throughout; one
// outside of the rank throws kOutOfRange.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Replaces the one -1 of `sizes` by what `numel` elements leave. Throws kInvalidArgument if
// the sizes cannot hold exactly `numel` elements.
IntVector infer_sizes(const IntVector& sizes, int64_t numel);

// aten::view. Throws kInvalidArgument where only a copy could have these sizes.
Tensor view(const Tensor& self, const IntVector& sizes);
// aten::view.dtype: the same bytes as another dtype; the last dimension shrinks or grows.
Tensor view_dtype(const Tensor& self, ScalarType dtype);
// aten::reshape: a view where possible, else a contiguous copy.
Tensor reshape(const Tensor& self, const IntVector& sizes);
Tensor view_as(const Tensor& self, const Tensor& other);
Tensor reshape_as(const Tensor& self, const Tensor& other);
// aten::flatten.using_ints: self itself if there is nothing to flatten.
Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim);
// aten::unflatten.int: dimension `dim` becomes `sizes` (one may be -1).
Tensor unflatten(const Tensor& self, int64_t dim, const IntVector& sizes);
// aten::ravel: contiguous and one-dimensional.
Tensor ravel(const Tensor& self);
// aten::_reshape_alias: a view whose strides the caller has computed.
Tensor reshape_alias(const Tensor& self, const IntVector& sizes, const IntVector& strides);

// aten::alias: another tensor of the same geometry.
Tensor alias(const Tensor& self);
// aten::transpose.int, aten::swapaxes, aten::swapdims.
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
// aten::t: for at most two dimensions.
Tensor t(const Tensor& self);
Tensor permute(const Tensor& self, const IntVector& dims);
// aten::numpy_T: all dimensions reversed.
Tensor reverse_dims(const Tensor& self);
// aten::mT: the last two dimensions exchanged.
Tensor matrix_transpose(const Tensor& self);
// aten::adjoint and aten::mH: matrix_transpose, conjugated lazily.
Tensor adjoint(const Tensor& self);
// aten::matrix_H: adjoint of a single matrix.
Tensor matrix_adjoint(const Tensor& self);
// The permutation that movedim makes: for each place, the dimension that comes to it.
IntVector movedim_order(int64_t rank, const IntVector& source, const IntVector& destination);
Tensor movedim(const Tensor& self, const IntVector& source, const IntVector& destination);
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination);

Tensor squeeze(const Tensor& self);
Tensor squeeze_dim(const Tensor& self, int64_t dim);
Tensor squeeze_dims(const Tensor& self, const IntVector& dims);
Tensor unsqueeze(const Tensor& self, int64_t dim);

// aten::expand: size -1 keeps a dimension; new dimensions go to the front.
Tensor expand(const Tensor& self, const IntVector& sizes, bool implicit);
Tensor expand_as(const Tensor& self, const Tensor& other);
Tensor broadcast_to(const Tensor& self, const IntVector& sizes);
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);

// aten::as_strided. Throws kInvalidArgument for negative strides, kOutOfRange beyond the storage.
Tensor as_strided(const Tensor& self, const IntVector& sizes, const IntVector& strides,
                  std::optional<int64_t> offset);

Tensor atleast_1d(const Tensor& self);
Tensor atleast_2d(const Tensor& self);
Tensor atleast_3d(const Tensor& self);

// Gives `self` the geometry of `view`, a view of the same storage: transpose_, squeeze_...
void adopt_geometry(const Tensor& self, const Tensor& view);

}  // namespace tierup::kernels
