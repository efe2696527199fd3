// Results in the memory of tensors that nobody needs any more.
//
// Fresh memory costs more than the arithmetic of most point-wise operators: lines that are not in
// the processor's caches, and at first use a page's fault for each 4 KB.
#pragma once

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// A tensor of this dtype, shape and strides over the memory of `dying`, of which the caller knows
// that nobody reads it after the kernel; undefined if its storage has other owners or is not
// exactly of that form. The kernel may read an element of `dying` until it writes the same element.
// Also undefined where a run's allocations are planned (block_owner.h): they must not depend on who
// holds what.
Tensor reuse_memory(const Tensor& dying, ScalarType dtype, IntSpan sizes, IntSpan strides);

}  // namespace tierup::kernels
