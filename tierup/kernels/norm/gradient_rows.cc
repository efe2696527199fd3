// The tables, and the f64 rows.
#include "tierup/kernels/norm/gradient_rows.h"

#include <cmath>

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

void scaled_sums(const double* g, const double* gamma, const double* x, int64_t n, double center,
                 double* of_g, double* of_gx) {
  for (int64_t i = 0; i < n; ++i) {
    const double scaled = gamma != nullptr ? g[i] * gamma[i] : g[i];
    *of_g += scaled;
    *of_gx += scaled * (x[i] - center);
  }
}

void sums(const double* g, const double* x, int64_t n, double center, double* of_g, double* of_gx) {
  scaled_sums(g, nullptr, x, n, center, of_g, of_gx);
}

void combine(const double* g, const double* x, int64_t n, const AffineGradient<double>& a,
             double* dx) {
  for (int64_t i = 0; i < n; ++i) dx[i] = g[i] * a.scale - a.shift - (x[i] - a.center) * a.slope;
}

void combine_scaled(const double* g, const double* gamma, const double* x, int64_t n,
                    const AffineGradient<double>& a, double* dx) {
  for (int64_t i = 0; i < n; ++i) {
    const double scaled = gamma != nullptr ? g[i] * gamma[i] : g[i];
    dx[i] = a.scale * (scaled - a.shift - (x[i] - a.center) * a.slope);
  }
}

void add_columns(const double* g, const double* x, int64_t n, double mean, double rstd,
                 double* of_weight, double* of_bias) {
  for (int64_t i = 0; i < n; ++i) {
    of_weight[i] += g[i] * (x[i] - mean) * rstd;
    of_bias[i] += g[i];
  }
}

void add_column_sums(const double* g, const double* x, int64_t n, const double* center,
                     double* of_g, double* of_gx) {
  for (int64_t i = 0; i < n; ++i) {
    of_g[i] += g[i];
    of_gx[i] += g[i] * (x[i] - center[i]);
  }
}

void combine_columns(const double* g, const double* x, int64_t n, const AffineColumns<double>& a,
                     double* dx) {
  for (int64_t i = 0; i < n; ++i)
    dx[i] = g[i] * a.scale[i] - a.shift[i] - (x[i] - a.center[i]) * a.slope[i];
}

// One line of elements that lie `stride` apart.
void softmax_line(bool log, const double* g, const double* y, int64_t n, int64_t stride,
                  double* dx) {
  double sum = 0;
  for (int64_t i = 0; i < n * stride; i += stride) sum += log ? g[i] : g[i] * y[i];
  for (int64_t i = 0; i < n * stride; i += stride) {
    dx[i] = log ? g[i] - std::exp(y[i]) * sum : (g[i] - sum) * y[i];
  }
}

template <bool kLog>
void softmax_row(const double* g, const double* y, int64_t n, double* dx) {
  softmax_line(kLog, g, y, n, 1, dx);
}

template <bool kLog>
void softmax_of_columns(const double* g, const double* y, int64_t rows, int64_t stride, int64_t n,
                        double* dx) {
  for (int64_t i = 0; i < n; ++i) softmax_line(kLog, g + i, y + i, rows, stride, dx + i);
}

constexpr GradientRows<double> kDoubleRows = {sums,
                                              scaled_sums,
                                              combine,
                                              combine_scaled,
                                              add_columns,
                                              add_column_sums,
                                              combine_columns,
                                              softmax_row<false>,
                                              softmax_row<true>,
                                              softmax_of_columns<false>,
                                              softmax_of_columns<true>};

}  // namespace

template <>
const GradientRows<float>& gradient_rows<float>() {
  static const GradientRows<float> rows = TIERUP_VARIANT(
      instruction_set(), gradient_rows_base, gradient_rows_avx2, gradient_rows_avx512)();
  return rows;
}

template <>
const GradientRows<double>& gradient_rows<double>() {
  return kDoubleRows;
}

}  // namespace tierup::kernels
