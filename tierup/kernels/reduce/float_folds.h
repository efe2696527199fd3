// Folds of f32 runs, compiled for each instruction set: what sums and extrema spend their time in.
//
// Every variant keeps the same 32 accumulators and merges them in the same tree, so that all of
// them give the same bits, which are also those of fold_lanes (reduce.h).
#pragma once

#include <cstdint>

namespace tierup::kernels {

struct FloatFolds {
  float (*sum)(const float* x, int64_t n);
  float (*max)(const float* x, int64_t n);  // NaN wins.
  float (*min)(const float* x, int64_t n);
  // acc[j] += x[r * stride + j] for `rows` rows, in order, and `columns` of them, 64 at most.
  using FoldRows = void (*)(const float* x, int64_t rows, int64_t stride, int64_t columns,
                            float* acc);
  FoldRows add_rows;
  FoldRows max_rows;  // As max.
  FoldRows min_rows;
  // Of the squares, of the magnitudes, of what is not NaN, and the product.
  float (*squares)(const float* x, int64_t n);
  float (*magnitudes)(const float* x, int64_t n);
  float (*numbers)(const float* x, int64_t n);
  float (*product)(const float* x, int64_t n);
  FoldRows add_square_rows;
  FoldRows add_magnitude_rows;
  FoldRows add_number_rows;
  FoldRows multiply_rows;
  // Columns side by side, 64 at most: best[j] and place[j], what is found in rows before `first`,
  // become what is found with `rows` rows more, the first of which is number `first`. Of equal
  // numbers the first stays, and so does the first NaN.
  using FindInRows = void (*)(const float* x, int64_t rows, int64_t stride, int64_t columns,
                              int32_t first, float* best, int32_t* place);
  FindInRows find_max_in_rows;
  FindInRows find_min_in_rows;
  // The place of the first number that equals `value`, or is NaN if that is; n if there is none.
  int64_t (*first_equal)(const float* x, int64_t n, float value);
  // acc[j] += x[r * stride + j], or the square of what that is away from center[j], in double.
  void (*add_wide_rows)(const float* x, int64_t rows, int64_t stride, int64_t columns, double* acc);
  void (*add_wide_squares_rows)(const float* x, int64_t rows, int64_t stride, int64_t columns,
                                const double* center, double* acc);
  // In double: the sum of x, and of the squares of x - center.
  double (*wide_sum)(const float* x, int64_t n);
  double (*wide_squares)(const float* x, int64_t n, double center);
  // The place of the first number that is not at most (not at least) `bound`, as NaN is; n if there
  // is none.
  using FirstOutside = int64_t (*)(const float* x, int64_t n, float bound);
  FirstOutside first_above;
  FirstOutside first_below;
  // places[i]: how many of n keys go before key i, for they are less, or equal and further in
  // front. By comparing each with all: for a few hundred at most.
  void (*rank)(const int32_t* keys, int64_t n, int32_t* places);
  // Sorts kSortedColumns columns of `rows` keys each, which lie kSortedColumns apart: the least
  // first.
  void (*sort_columns)(int64_t* keys, int64_t rows);
  static constexpr int64_t kSortedColumns = 32;
};

const FloatFolds& float_folds_base();
const FloatFolds& float_folds_avx2();
const FloatFolds& float_folds_avx512();

// The variant for this processor.
const FloatFolds& float_folds();

}  // namespace tierup::kernels
