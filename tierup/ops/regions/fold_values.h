// What a fold's results hold before anything is folded into them, and what becomes of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "tierup/ops/table/facts.h"
#include "tierup/tensor/dtype.h"

namespace tierup::ops {
namespace detail {

template <typename T>
void fill_ends(FoldKind fold, char* data, int64_t count) {
  constexpr T kEnd = std::numeric_limits<T>::infinity();
  std::fill_n(reinterpret_cast<T*>(data), count, fold == FoldKind::kLargest ? -kEnd : kEnd);
}
template <typename T>
void divide(char* data, int64_t count, double by) {
  T* values = reinterpret_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i) values[i] /= static_cast<T>(by);
}
template <typename T>
bool holds_infinity(const char* data, int64_t count) {
  const T* values = reinterpret_cast<const T*>(data);
  return std::find(values, values + count, std::numeric_limits<T>::infinity()) != values + count;
}

}  // namespace detail

// Writes as many numbers as change nothing that is folded with them. Extrema are of floats or
// doubles.
inline void begin_fold(FoldKind fold, ScalarType dtype, char* data, int64_t count) {
  if (fold == FoldKind::kNone) return;
  if (fold == FoldKind::kSum || fold == FoldKind::kMean) {
    std::memset(data, 0, static_cast<size_t>(count) * item_size(dtype));
  } else {
    dtype == ScalarType::kFloat ? detail::fill_ends<float>(fold, data, count)
                                : detail::fill_ends<double>(fold, data, count);
  }
}

// A mean is a sum until all `folded` elements are in it.
inline void finish_fold(FoldKind fold, ScalarType dtype, char* data, int64_t count, double folded) {
  if (fold != FoldKind::kMean) return;
  dtype == ScalarType::kFloat ? detail::divide<float>(data, count, folded)
                              : detail::divide<double>(data, count, folded);
}

inline bool holds_infinity(ScalarType dtype, const char* data, int64_t count) {
  return dtype == ScalarType::kFloat ? detail::holds_infinity<float>(data, count)
                                     : detail::holds_infinity<double>(data, count);
}

}  // namespace tierup::ops
