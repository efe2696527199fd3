// Kernels over one row of numbers of which the gradients of norms and softmax are made.
//
// Sums stand in eight lanes whatever the instruction set (f64 for norms), so that they are the same
// bits everywhere; f64 rows are plain loops. The tables are picked at run time.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// dx = g scale - shift - (x - center) slope.
template <typename T>
struct AffineGradient {
  T center = 0;
  T scale = 0;
  T shift = 0;
  T slope = 0;
};

// The same for a row whose columns have numbers of their own.
template <typename T>
struct AffineColumns {
  const T* center;
  const T* scale;
  const T* shift;
  const T* slope;
};

template <typename T>
struct GradientRows {
  // Adds the sums of g and of g (x - center) to *of_g and *of_gx.
  void (*sums)(const T* g, const T* x, int64_t n, T center, double* of_g, double* of_gx);
  // The same of g gamma, for a gamma of n elements.
  void (*scaled_sums)(const T* g, const T* gamma, const T* x, int64_t n, T center, double* of_g,
                      double* of_gx);
  void (*combine)(const T* g, const T* x, int64_t n, const AffineGradient<T>& a, T* dx);
  // dx = rstd (g gamma - shift - (x - center) slope), rstd being a.scale; gamma may be null.
  void (*combine_scaled)(const T* g, const T* gamma, const T* x, int64_t n,
                         const AffineGradient<T>& a, T* dx);
  // of_weight += g (x - mean) rstd and of_bias += g, element by element.
  void (*add_columns)(const T* g, const T* x, int64_t n, T mean, T rstd, double* of_weight,
                      double* of_bias);
  // of_g += g and of_gx += g (x - center), element by element.
  void (*add_column_sums)(const T* g, const T* x, int64_t n, const T* center, double* of_g,
                          double* of_gx);
  void (*combine_columns)(const T* g, const T* x, int64_t n, const AffineColumns<T>& a, T* dx);
  // dx = (g - sum of g y) y of rows y = softmax(x); dx = g - exp(y) sum of g of log_softmax.
  void (*softmax)(const T* g, const T* y, int64_t n, T* dx);
  void (*log_softmax)(const T* g, const T* y, int64_t n, T* dx);
  // Down the columns of a matrix: `rows` rows that lie `stride` elements apart, `n` columns, at
  // most kMostColumns of them.
  void (*softmax_columns)(const T* g, const T* y, int64_t rows, int64_t stride, int64_t n, T* dx);
  void (*log_softmax_columns)(const T* g, const T* y, int64_t rows, int64_t stride, int64_t n,
                              T* dx);
};

inline constexpr int64_t kMostColumns = 256;

GradientRows<float> gradient_rows_base();
GradientRows<float> gradient_rows_avx2();
GradientRows<float> gradient_rows_avx512();

// The best table for this processor.
template <typename T>
const GradientRows<T>& gradient_rows();
template <>
const GradientRows<float>& gradient_rows<float>();
template <>
const GradientRows<double>& gradient_rows<double>();

}  // namespace tierup::kernels
