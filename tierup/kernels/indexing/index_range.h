// Whether indices lie inside of a dimension.
#pragma once

#include <cstdint>

#include "tierup/base/error.h"

namespace tierup::kernels {

inline bool is_in_range(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size);
}

// Throws kOutOfRange for an index that is not in [0, size) of dimension `dim`.
[[noreturn]] inline void fail_index(int64_t index, int64_t dim, int64_t size) {
  fail(ErrorCode::kOutOfRange, "index {} is out of bounds for dimension {} with size {}", index,
       dim, size);
}

// The place of the first of `count` indices, `step` apart, that is not in [0, size); -1 if all are.
inline int64_t first_out_of_range(const int64_t* index, int64_t count, int64_t size,
                                  int64_t step = 1) {
  // The sign of an index, or of what is left behind it, tells; vectors have no unsigned comparison.
  const auto signs_of = [&](int64_t i) {
    const auto at = static_cast<uint64_t>(index[i]);
    return at | (static_cast<uint64_t>(size) - 1 - at);
  };
  uint64_t signs = 0;
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) signs |= signs_of(i);
  } else {
    for (int64_t i = 0; i < count; ++i) signs |= signs_of(i * step);
  }
  if (static_cast<int64_t>(signs) >= 0) return -1;
  int64_t i = 0;
  while (is_in_range(index[i * step], size)) ++i;
  return i;
}

}  // namespace tierup::kernels
