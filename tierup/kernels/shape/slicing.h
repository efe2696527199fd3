// Slicing: views of a part of a tensor, and lists of them (split, chunk, unbind).
//
// Only geometry is computed. Dimensions may be negative; one outside of the rank throws
// kOutOfRange, other bad arguments kInvalidArgument.
#pragma once

#include <optional>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::select.int: drops `dim`; a negative index counts from the end. Throws kOutOfRange.
Tensor select(const Tensor& self, int64_t dim, int64_t index);
// aten::slice.Tensor: bounds are clamped as Python does; step must be positive.
Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step);
// aten::narrow: [start, start + length) must lie inside.
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
// aten::narrow.Tensor: the start is a 0-dim integer tensor.
Tensor narrow_tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length);
// aten::diagonal: the diagonal of two dimensions becomes the last one.
Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
// aten::unfold: windows of `size` elements every `step`, as a new last dimension.
Tensor unfold(const Tensor& self, int64_t dim, int64_t size, int64_t step);

// aten::chunk: at most `chunks` parts of equal size, the last perhaps smaller.
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim);
// aten::split.Tensor: parts of `split_size`, the last perhaps smaller.
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim);
// aten::split_with_sizes: sizes must add up to the dimension.
std::vector<Tensor> split_with_sizes(const Tensor& self, const IntVector& sizes, int64_t dim);
// aten::tensor_split: `sections` parts whose sizes differ by at most one, or cuts at indices.
std::vector<Tensor> tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim);
std::vector<Tensor> tensor_split_indices(const Tensor& self, const IntVector& indices, int64_t dim);
std::vector<Tensor> tensor_split_tensor(const Tensor& self, const Tensor& spec, int64_t dim);
// aten::hsplit, vsplit, dsplit: tensor_split along one axis with an exact division.
std::vector<Tensor> hsplit_sections(const Tensor& self, int64_t sections);
std::vector<Tensor> hsplit_indices(const Tensor& self, const IntVector& indices);
std::vector<Tensor> vsplit_sections(const Tensor& self, int64_t sections);
std::vector<Tensor> vsplit_indices(const Tensor& self, const IntVector& indices);
std::vector<Tensor> dsplit_sections(const Tensor& self, int64_t sections);
std::vector<Tensor> dsplit_indices(const Tensor& self, const IntVector& indices);
// aten::unbind.int: all selects along `dim`.
std::vector<Tensor> unbind(const Tensor& self, int64_t dim);

}  // namespace tierup::kernels
