// Joining: one tensor out of several (cat, stack and their kin), and grids of combinations.
#pragma once

#include <string_view>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// aten::cat: along an existing dimension; dtypes are promoted. Tensors of shape [0] are skipped.
// Throws kInvalidArgument for an empty list, ranks or other sizes that differ.
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
// aten::stack: along a new dimension; all shapes must be equal.
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
// Throws what stack would, but for its dimension.
void check_stack(const std::vector<Tensor>& tensors);
// aten::hstack, vstack (row_stack), dstack: cat along axis 1, 0, 2 after atleast_1d, 2d, 3d.
Tensor hstack(const std::vector<Tensor>& tensors);
Tensor vstack(const std::vector<Tensor>& tensors);
Tensor dstack(const std::vector<Tensor>& tensors);
// aten::column_stack: vectors become columns.
Tensor column_stack(const std::vector<Tensor>& tensors);
// aten::block_diag: matrices along the diagonal of a zero matrix.
Tensor block_diag(const std::vector<Tensor>& tensors);
// aten::_chunk_cat: each tensor is zero-padded to `num_chunks` chunks along `dim`; the chunks of
// all tensors are flattened and joined.
Tensor chunk_cat(const std::vector<Tensor>& tensors, int64_t dim, int64_t num_chunks);

// aten::meshgrid: "ij" or "xy" indexing; results are expanded views.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors);
std::vector<Tensor> meshgrid_indexing(const std::vector<Tensor>& tensors,
                                      std::string_view indexing);
// aten::cartesian_prod of vectors, one row for each combination.
Tensor cartesian_prod(const std::vector<Tensor>& tensors);
// aten::combinations: all r-element subsets of a vector in lexicographic order.
Tensor combinations(const Tensor& self, int64_t r, bool with_replacement);

// aten::pad_sequence: [L_i, *] to [longest, B, *], or [B, longest, *], the rest filled with
// `padding` on the right or the left.
Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first, double padding,
                    std::string_view side);

}  // namespace tierup::kernels
