// What a fold's results hold before anything is folded into them, and what becomes of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "tierup/base/float_flags.h"
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
bool all_between(const char* data, int64_t count, T least, T most) {
  const T* values = reinterpret_cast<const T*>(data);
  return std::all_of(values, values + count, [&](T x) { return least <= x && x <= most; });
}
template <typename T>
bool are_out_of_range(uint32_t float_flags, const char* data, int64_t count) {
  using Limits = std::numeric_limits<T>;
  const bool has_lost_bits = (float_flags & kUnderflowFlag) != 0;
  return !all_between(data, count, has_lost_bits ? Limits::min() / Limits::epsilon() : T{0},
                      Limits::max());
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

// Whether some variances, of computations that raised these flags, are not to be believed: squares
// that overflowed are infinite, or NaN where parts of a sum are; of squares that underflowed, bits
// are lost that count in a variance as small as they.
inline bool are_out_of_range(uint32_t float_flags, ScalarType dtype, const char* data,
                             int64_t count) {
  if ((float_flags & (kOverflowFlag | kUnderflowFlag)) == 0) return false;
  return dtype == ScalarType::kFloat ? detail::are_out_of_range<float>(float_flags, data, count)
                                     : detail::are_out_of_range<double>(float_flags, data, count);
}

}  // namespace tierup::ops
