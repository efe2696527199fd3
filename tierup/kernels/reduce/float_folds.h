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
  // In double: the sum of x, and of the squares of x - center.
  double (*wide_sum)(const float* x, int64_t n);
  double (*wide_squares)(const float* x, int64_t n, double center);
  // The place of the first number that is not at most (not at least) `bound`, as NaN is; n if there
  // is none.
  using FirstOutside = int64_t (*)(const float* x, int64_t n, float bound);
  FirstOutside first_above;
  FirstOutside first_below;
};

const FloatFolds& float_folds_base();
const FloatFolds& float_folds_avx2();
const FloatFolds& float_folds_avx512();

// The variant for this processor.
const FloatFolds& float_folds();

}  // namespace tierup::kernels
