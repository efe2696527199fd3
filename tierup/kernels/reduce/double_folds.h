// Folds of f64 runs, compiled for each instruction set; as float_folds.h, with the same order and
// the same bits on all of them.
#pragma once

#include <cstdint>

namespace tierup::kernels {

struct DoubleFolds {
  double (*sum)(const double* x, int64_t n);
  double (*max)(const double* x, int64_t n);  // NaN wins.
  double (*min)(const double* x, int64_t n);
  double (*numbers)(const double* x, int64_t n);  // The sum of what is not NaN.
  double (*product)(const double* x, int64_t n);
  // acc[j] += x[r * stride + j] for `rows` rows, in order, and `columns` of them.
  using FoldRows = void (*)(const double* x, int64_t rows, int64_t stride, int64_t columns,
                            double* acc);
  FoldRows add_rows;
  FoldRows max_rows;  // As max.
  FoldRows min_rows;
  FoldRows add_number_rows;
  FoldRows multiply_rows;
};

const DoubleFolds& double_folds_base();
const DoubleFolds& double_folds_avx2();
const DoubleFolds& double_folds_avx512();

// The variant for this processor.
const DoubleFolds& double_folds();

}  // namespace tierup::kernels
