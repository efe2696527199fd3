// Scattering whole rows: one index for each row of the source, as index_add and graph networks do.
#pragma once

#include "tierup/kernels/indexing/scatter_mode.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// scatter_lanes() along dimension 0 where the index is the same over each row, and rows lie dense
// in `self` and `src`: a row at a time by the vectorised point-wise runs, columns spread over
// threads, so that each element sums in the order of the index. False, with nothing done, for
// anything else; operands as scatter_lanes() has them, of at least one dimension.
bool scatter_rows(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  ScatterMode mode);

}  // namespace tierup::kernels
