// ReducePlan: which elements of a tensor go into which output, as nested strided loops.
//
// Kept dimensions stand in the row-major order of the output; reduced ones are sorted from the
// largest stride to the smallest, so that the innermost run is as dense as it can be. Both are
// merged where possible. The plan depends on the tensor's geometry alone, never on threads.
#pragma once

#include <optional>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// The dimensions to reduce, as PyTorch's operators give them: none or an empty list means all.
using ReduceDims = std::optional<IntVector>;

struct ReducePlan {
  // Throws kOutOfRange for a dimension that is not there, kInvalidArgument for one named twice.
  ReducePlan(const Tensor& self, const ReduceDims& dims, bool keepdim);

  IntVector out_sizes;
  IntVector kept_sizes;
  IntVector kept_strides;   // In elements of self.
  IntVector reduced_sizes;  // At least one entry.
  IntVector reduced_strides;
  int64_t outputs = 1;  // Elements of the output.
  int64_t count = 1;    // Elements that go into each.

  // Offset of the first element of an output, and of a row of the reduced dimensions (all but the
  // innermost one).
  int64_t output_offset(int64_t output) const;
  int64_t row_offset(int64_t row) const;
  int64_t run_length() const { return reduced_sizes.back(); }
  int64_t run_stride() const { return reduced_strides.back(); }
  int64_t rows() const { return count == 0 ? 0 : count / run_length(); }
};

// The dimensions as a bit mask; none or an empty list means all.
uint64_t reduce_mask(const ReduceDims& dims, int64_t rank);

}  // namespace tierup::kernels
