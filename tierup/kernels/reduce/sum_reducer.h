// The reducer behind sums and means, shared by the files that instantiate it.
#pragma once

#include <cmath>

#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/reduce/dense_folds.h"

namespace tierup::kernels {

// What an element type is summed in: 64 bits that wrap around for integers, float for narrow
// floats.
template <typename T>
using SumType = std::conditional_t<
    std::is_integral_v<T>, uint64_t,
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>>;
template <typename T>
using SumResult = std::conditional_t<std::is_integral_v<T>, int64_t, T>;

template <typename T, bool kSkipNan>
struct SumReducer {
  using In = T;
  using Acc = SumType<T>;
  using Out = SumResult<T>;
  static constexpr bool kTiles = true;
  double scale = 1;  // The mean's 1 / count, applied as a division.

  Acc identity() const { return Acc(0); }
  void fold(Acc& into, In value) const {
    const auto x = static_cast<Acc>(value);
    if constexpr (kSkipNan)
      into += x == x ? x : Acc(0);
    else
      into += x;
  }
  Acc block(const In* p, int64_t count, int64_t stride) const {
    if constexpr (kFoldsWhole<T>) {
      if (stride == 1 && count >= 64) return fold_dense(dense_folds<T>().sum, p, count);
    } else if constexpr (kFoldsDense<T>) {
      const auto& folds = dense_folds<T>();
      if (stride == 1 && count >= 64)
        return fold_dense(kSkipNan ? folds.numbers : folds.sum, p, count);
    }
    return fold_lanes(
        p, count, stride, identity(), [this](Acc& a, In v) { fold(a, v); },
        [](Acc a, Acc b) { return a + b; });
  }
  // A tile of neighbouring outputs, some rows at once.
  void fold_rows(const In* rows, int64_t count, int64_t stride, int64_t width, Acc* tile) const
      requires(kFoldsDense<T>) {
    const auto& folds = dense_folds<T>();
    if constexpr (kFoldsWhole<T>) {
      fold_dense_rows(folds.add_rows, rows, count, stride, width, tile);
    } else {
      fold_dense_rows(kSkipNan ? folds.add_number_rows : folds.add_rows, rows, count, stride, width,
                      tile);
    }
  }
  Acc across(const Acc* tile, int64_t width) const requires(kFoldsDense<T> && !kFoldsWhole<T>) {
    return dense_folds<T>().sum(tile, width);
  }
  Acc merge(Acc a, Acc b) const { return a + b; }
  Out finish(Acc acc) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Out>(acc);
    } else {
      if (scale == 1) return static_cast<Out>(acc);
      using Real = decltype(std::abs(acc));
      return static_cast<Out>(acc / static_cast<Real>(scale));
    }
  }
};

}  // namespace tierup::kernels
