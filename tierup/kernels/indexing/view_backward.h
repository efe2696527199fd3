// Gradients of views and masks: what a part got, in zeros of the whole's sizes.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::select_backward, slice_backward, diagonal_backward: zeros of `input_sizes` with `grad` at
// that view of them. Follow the views' own checks (slicing.h).
Tensor select_backward(const Tensor& grad, const IntVector& input_sizes, int64_t dim,
                       int64_t index);
Tensor slice_backward(const Tensor& grad, const IntVector& input_sizes, int64_t dim, int64_t start,
                      int64_t end, int64_t step);
Tensor diagonal_backward(const Tensor& grad, const IntVector& input_sizes, int64_t offset,
                         int64_t dim1, int64_t dim2);
// aten::masked_scatter_backward: the elements of `grad` under the mask, in order, as the first ones
// of `sizes`, the rest zeros.
Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, const IntVector& sizes);
// aten::trace_backward: a number on the diagonal.
Tensor trace_backward(const Tensor& grad, const IntVector& sizes);
// tierup::as_strided_backward: for the tensor of these sizes and strides, seen by the view of the
// others in one storage; where several places of the view share memory their gradients add up, and
// where several places of the input do, each gets an equal share.
Tensor as_strided_backward(const Tensor& grad, const IntVector& input_sizes,
                           const IntVector& input_strides, int64_t input_offset,
                           const IntVector& sizes, const IntVector& strides, int64_t offset);

// One more than the last place of a storage that the geometry reaches; 0 if it has no elements.
// Throws kInvalidArgument for negative strides.
int64_t strided_reach(IntSpan sizes, IntSpan strides, int64_t offset);
// Whether two elements of the geometry may stand in one place: never wrong when it says no.
bool may_overlap(IntSpan sizes, IntSpan strides);

}  // namespace tierup::kernels
