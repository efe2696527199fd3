// The shape that a group's kernel goes over: that of what it reads, broadcast.
#pragma once

#include <algorithm>

#include "tierup/tensor/tensor.h"

namespace tierup::ops {

inline bool same_sizes(IntSpan a, IntSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Where the element `index`, in row-major order, of dimensions of these sizes lies.
inline int64_t place_of(int64_t index, const IntVector& sizes, const IntVector& strides) {
  int64_t place = 0;
  for (size_t d = sizes.size(); d-- > 0; index /= sizes[d]) {
    place += index % sizes[d] * strides[d];
  }
  return place;
}

// Broadcasts `shape` with `sizes`. False, with nothing done, if they do not go together.
inline bool widen(IntVector& shape, IntSpan sizes) {
  const size_t common = std::min(sizes.size(), shape.size());
  for (size_t d = 1; d <= common; ++d) {
    const int64_t a = sizes[sizes.size() - d];
    const int64_t b = shape[shape.size() - d];
    if (a != b && a != 1 && b != 1) return false;
  }
  if (!same_sizes(sizes, shape)) shape = broadcast_shapes(shape, sizes);
  return true;
}

}  // namespace tierup::ops
