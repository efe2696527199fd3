// Numbers that lie side by side, folded by float_folds(), double_folds() and whole_folds(): narrow
// floating ones as floats. Runs are a block's at most, tiles as reduce.h has them.
#pragma once

#include <array>
#include <type_traits>

#include "tierup/kernels/memory/vector_casts.h"
#include "tierup/kernels/reduce/double_folds.h"
#include "tierup/kernels/reduce/float_folds.h"
#include "tierup/kernels/reduce/reduce.h"
#include "tierup/kernels/reduce/whole_folds.h"

namespace tierup::kernels {

template <typename T>
inline constexpr bool kFoldsDense =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half> ||
    std::is_same_v<T, BFloat16> || kFoldsWhole<T>;

// The table for what a T is folded in.
template <typename T>
const auto& dense_folds() {
  if constexpr (kFoldsWhole<T>)
    return whole_folds<T>();
  else if constexpr (std::is_same_v<T, double>)
    return double_folds();
  else
    return float_folds();
}

namespace reduce_detail {
// What writes numbers of T as floats.
template <typename T>
class Widening {
 public:
  void operator()(const T* x, int64_t count, float* to) const {
    cast_(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(x), count);
  }

 private:
  DenseCast cast_ = dense_cast(ScalarType::kFloat, kDTypeOf<T>, instruction_set());
};
}  // namespace reduce_detail

template <typename T, typename Acc>
requires(kFoldsWhole<T>) Acc fold_dense(Acc (*fold)(const T* x, int64_t n), const T* x, int64_t n) {
  return fold(x, n);
}
template <typename T, typename Acc>
requires(kFoldsWhole<T>) void fold_dense_rows(void (*fold)(const T* x, int64_t rows, int64_t stride,
                                                           int64_t columns, Acc* acc),
                                              const T* rows, int64_t count, int64_t stride,
                                              int64_t width, Acc* tile) {
  fold(rows, count, stride, width, tile);
}

template <typename T, typename Acc>
requires(!kFoldsWhole<T>) Acc
    fold_dense(Acc (*fold)(const Acc* x, int64_t n), const T* x, int64_t n) {
  if constexpr (std::is_same_v<T, Acc>) {
    return fold(x, n);
  } else {
    std::array<float, reduce_detail::kBlock> wide;
    reduce_detail::Widening<T>()(x, n, wide.data());
    return fold(wide.data(), n);
  }
}

template <typename T, typename Acc>
requires(!kFoldsWhole<T>) void fold_dense_rows(
    void (*fold)(const Acc* x, int64_t rows, int64_t stride, int64_t columns, Acc* acc),
    const T* rows, int64_t count, int64_t stride, int64_t width, Acc* tile) {
  if constexpr (std::is_same_v<T, Acc>) {
    fold(rows, count, stride, width, tile);
  } else {
    constexpr int64_t kTile = reduce_detail::kTile;
    constexpr int64_t kRows = reduce_detail::kTileRows;
    std::array<float, kRows * kTile> wide;
    const reduce_detail::Widening<T> widen;
    for (int64_t first = 0; first < count; first += kRows) {
      const int64_t some = std::min(kRows, count - first);
      for (int64_t r = 0; r < some; ++r)
        widen(rows + (first + r) * stride, width, wide.data() + r * kTile);
      fold(wide.data(), some, kTile, width, tile);
    }
  }
}

}  // namespace tierup::kernels
