// Scattering whole rows: one index for each row of the source, as index_add and graph networks do.
#pragma once

#include "tierup/kernels/indexing/scatter_mode.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Whether scatter_lanes() goes along dimension 0 with an index that is the same over each row, and
// rows lie dense in `self` and `src`; operands as scatter_lanes() has them, of at least one
// dimension.
bool scatters_rows(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);

// Of operands of which that holds: throws kOutOfRange for an index that names no row.
void check_row_indices(const Tensor& index, int64_t rows);

// A row at a time by the vectorised point-wise runs, columns spread over threads, so that each
// element sums in the order of the index. False, with nothing done, for rows that do not fill
// vectors, and for what has no such run.
bool combine_wide_rows(const Tensor& self, const Tensor& index, const Tensor& src,
                       ScatterMode mode);

// visit(target, source) for all elements, row by row in the order of the index.
template <typename T, typename Visit>
void visit_rows(const Tensor& self, const Tensor& index, const Tensor& src, const Visit& visit) {
  int64_t length = 1;
  for (int64_t d = 1; d < self.dim(); ++d) length *= self.sizes()[d];
  const int64_t* at = index.data<int64_t>();
  const auto* from = static_cast<const T*>(src.raw());
  if (length == 1) {
    auto* const to = static_cast<T*>(self.raw());
    const int64_t step = self.strides()[0];
    for (int64_t i = 0; i < index.sizes()[0]; ++i)
      visit(to[at[i * index.strides()[0]] * step], from[i * src.strides()[0]]);
    return;
  }
  for (int64_t i = 0; i < index.sizes()[0]; ++i, from += src.strides()[0]) {
    T* to = static_cast<T*>(self.raw()) + at[i * index.strides()[0]] * self.strides()[0];
    for (int64_t j = 0; j < length; ++j) visit(to[j], from[j]);
  }
}

}  // namespace tierup::kernels
