// Folds of runs of integers, compiled for each instruction set: sums, products and extrema, and the
// places of extrema among columns of eight-byte numbers. Integers give the same result in any
// order.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tierup::kernels {

// Of T; sums are taken modulo 2^64, as products are.
template <typename T>
struct WholeFolds {
  template <typename Acc>
  using Fold = Acc (*)(const T* x, int64_t n);
  // acc[j] takes x[r * stride + j] for `rows` rows and `columns` of them.
  template <typename Acc>
  using FoldRows = void (*)(const T* x, int64_t rows, int64_t stride, int64_t columns, Acc* acc);
  Fold<T> max;
  Fold<T> min;
  Fold<uint64_t> sum;
  Fold<uint64_t> product;
  FoldRows<T> max_rows;
  FoldRows<T> min_rows;
  FoldRows<uint64_t> add_rows;
  FoldRows<uint64_t> multiply_rows;
};

// Columns side by side: best[j] and place[j], what is found in rows before `first`, become what is
// found with `rows` rows more, the first of which is number `first`. Of equal numbers the first
// stays, and so does the first NaN. For double and int64_t.
template <typename T>
using FindInRows = void (*)(const T* x, int64_t rows, int64_t stride, int64_t columns,
                            int64_t first, T* best, int64_t* place);

struct WholeFoldTable {
  WholeFolds<int64_t> i64;
  WholeFolds<int32_t> i32;
  WholeFolds<int16_t> i16;
  WholeFolds<int8_t> i8;
  WholeFolds<uint8_t> u8;
  FindInRows<int64_t> find_max_i64, find_min_i64;
  FindInRows<double> find_max_f64, find_min_f64;
};

const WholeFoldTable& whole_folds_base();
const WholeFoldTable& whole_folds_avx2();
const WholeFoldTable& whole_folds_avx512();

// The variant for this processor.
const WholeFoldTable& whole_fold_table();

// Types that have these folds.
template <typename T>
inline constexpr bool kFoldsWhole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <typename T>
const WholeFolds<T>& whole_folds() {
  const WholeFoldTable& table = whole_fold_table();
  if constexpr (std::is_same_v<T, int64_t>)
    return table.i64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return table.i32;
  else if constexpr (std::is_same_v<T, int16_t>)
    return table.i16;
  else if constexpr (std::is_same_v<T, int8_t>)
    return table.i8;
  else
    return table.u8;
}

}  // namespace tierup::kernels
