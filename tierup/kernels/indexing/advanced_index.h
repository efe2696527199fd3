// Advanced indexing: x[index, ...] with integer and boolean tensors, and assignment through it.
//
// An undefined index keeps its dimension whole (":"). Boolean (and uint8) masks stand for the
// indices of their nonzero elements. The index tensors are broadcast together; their dimensions
// replace the indexed ones in the result, in place if these are adjacent, else in front.
// Errors: kOutOfRange "index 5 is out of bounds for dimension 0 with size 3"; kInvalidArgument for
// too many indices, shapes that do not broadcast, masks of another shape.
#pragma once

#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::index.Tensor. The result is contiguous.
Tensor index(const Tensor& self, const std::vector<Tensor>& indices);
// aten::index_put_: writes `values`, broadcast to the indexed shape and of the dtype of self; with
// `accumulate` adds them, each repeated index in turn.
void index_put_(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                bool accumulate);
// aten::_unsafe_masked_index: index with indices clamped into range, `fill` where mask is false.
Tensor masked_index(const Tensor& self, const Tensor& mask, const std::vector<Tensor>& indices,
                    const Scalar& fill_value);
// aten::_unsafe_masked_index_put_accumulate: a copy of self with values added where mask is true.
Tensor masked_index_put_accumulate(const Tensor& self, const Tensor& mask,
                                   const std::vector<Tensor>& indices, const Tensor& values);

}  // namespace tierup::kernels
