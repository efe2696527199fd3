// Kernels over one row of numbers: what softmax, the normalisations and attention are made of.
//
// f32 rows are worked on in sixteen lanes whatever the instruction set, so that sums are the same
// bits, and exponentials with fused multiply-adds (decision 0022); f64 rows in eight where they
// take exponentials, and else by plain loops. The tables are picked at run time.
#pragma once

#include <cstdint>

namespace tierup::kernels {

template <typename T>
struct RowKernels {
  // The largest element, NaN if there is one; -inf of nothing.
  T (*max)(const T* x, int64_t n);
  // y = the larger of x and y, NaN if one is.
  void (*max_into)(const T* x, int64_t n, T* y);
  // x = exp(x - shift) in place, for x <= shift; returns the sum.
  T (*exp_shifted)(T* x, int64_t n, T shift);
  T (*sum)(const T* x, int64_t n);
  T (*sum_of_squares)(const T* x, int64_t n);
  // Mean and biased variance, by two passes.
  void (*moments)(const T* x, int64_t n, T* mean, T* variance);
  // In place.
  void (*sigmoid)(T* x, int64_t n);
  void (*tanh)(T* x, int64_t n);
  // y = x * sigmoid(gate).
  void (*gate)(const T* x, const T* gate, int64_t n, T* y);
  // y = x * scale.
  void (*scale)(const T* x, int64_t n, T scale, T* y);
  // y = x * scale + shift.
  void (*affine)(const T* x, int64_t n, T scale, T shift, T* y);
  // y = (x - mean) * rstd * gamma + beta; gamma and beta have n elements or are null.
  void (*normalize)(const T* x, int64_t n, T mean, T rstd, const T* gamma, const T* beta, T* y);
  // y = x * scale[i] + shift[i].
  void (*affine_by_column)(const T* x, int64_t n, const T* scale, const T* shift, T* y);
  // Along each of `rows` dense rows of n numbers.
  void (*softmax)(const T* x, int64_t rows, int64_t n, T* y);
  void (*log_softmax)(const T* x, int64_t rows, int64_t n, T* y);
  // Down the columns of a matrix: `rows` rows that lie `stride` elements apart, `n` columns.
  void (*softmax_columns)(const T* x, int64_t rows, int64_t stride, int64_t n, T* y);
  void (*log_softmax_columns)(const T* x, int64_t rows, int64_t stride, int64_t n, T* y);
  // The logarithm of the sum of exponentials, of each dense row of n, of each column; the largest
  // element where that is infinite.
  void (*log_sum_exp)(const T* x, int64_t rows, int64_t n, T* y);
  void (*log_sum_exp_columns)(const T* x, int64_t rows, int64_t stride, int64_t n, T* y);
};

RowKernels<float> row_kernels_base();
RowKernels<float> row_kernels_avx2();
RowKernels<float> row_kernels_avx512();

// Layer norm down the columns of a matrix, in place: x = (x - mean) * rstd * gamma[row] + beta[row]
// with rstd = 1 / sqrt(variance + eps). `rows` rows that lie `stride` elements apart, n columns;
// gamma and beta have an element for each row or are null, mean and rstd get one for each column.
using NormalizeColumns = void (*)(float* x, int64_t rows, int64_t stride, int64_t n, float eps,
                                  const float* gamma, const float* beta, float* mean, float* rstd);
NormalizeColumns normalize_columns_base();
NormalizeColumns normalize_columns_avx2();
NormalizeColumns normalize_columns_avx512();
// The variant for this processor.
NormalizeColumns normalize_columns();

// Set what works with exponentials in the f64 table.
namespace simd_base {
void set_double_rows(RowKernels<double>& kernels);
}
namespace simd_avx2 {
void set_double_rows(RowKernels<double>& kernels);
}
namespace simd_avx512 {
void set_double_rows(RowKernels<double>& kernels);
}

// The best table for this processor.
template <typename T>
const RowKernels<T>& row_kernels();
template <>
const RowKernels<float>& row_kernels<float>();
template <>
const RowKernels<double>& row_kernels<double>();

}  // namespace tierup::kernels
