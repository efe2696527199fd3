// The f64 row kernels, as plain loops, and the choice of table.
#include "tierup/kernels/gemm/row_kernels.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// Of one column, or with stride 1 of one row.
double line_max(const double* x, int64_t n, int64_t stride) {
  double best = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i)
    best = x[i * stride] > best || std::isnan(x[i * stride]) ? x[i * stride] : best;
  return best;
}

double row_max(const double* x, int64_t n) { return line_max(x, n, 1); }

void row_max_into(const double* x, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i];
}

double row_exp_shifted(double* x, int64_t n, double shift) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = std::exp(x[i] - shift);
    sum += x[i];
  }
  return sum;
}

double row_sum(const double* x, int64_t n) { return std::accumulate(x, x + n, 0.0); }

double row_sum_of_squares(const double* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

void row_moments(const double* x, int64_t n, double* mean, double* variance) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  *mean = sum / static_cast<double>(n);
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - *mean) * (x[i] - *mean);
  *variance = squares / static_cast<double>(n);
}

void row_sigmoid(double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 1 / (1 + std::exp(-x[i]));
}

void row_tanh(double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::tanh(x[i]);
}

void row_scale(const double* x, int64_t n, double scale, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale;
}

void row_affine(const double* x, int64_t n, double scale, double shift, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
}

void row_gate(const double* x, const double* gate, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1 + std::exp(-gate[i]));
}

void row_normalize(const double* x, int64_t n, double mean, double rstd, const double* gamma,
                   const double* beta, double* y) {
  for (int64_t i = 0; i < n; ++i) {
    double value = (x[i] - mean) * rstd;
    if (gamma != nullptr) value *= gamma[i];
    if (beta != nullptr) value += beta[i];
    y[i] = value;
  }
}

void row_affine_by_column(const double* x, int64_t n, const double* scale, const double* shift,
                          double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale[i] + shift[i];
}

// One column, or with stride 1 one row.
template <bool kLog>
void softmax_line(const double* x, int64_t n, int64_t stride, double* y) {
  const double top = line_max(x, n, stride);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double e = std::exp(x[i * stride] - top);
    y[i * stride] = kLog ? x[i * stride] - top : e;
    sum += e;
  }
  const double log_sum = std::log(sum);
  for (int64_t i = 0; i < n; ++i)
    y[i * stride] = kLog ? y[i * stride] - log_sum : y[i * stride] / sum;
}

template <bool kLog>
void softmax_row(const double* x, int64_t n, double* y) {
  softmax_line<kLog>(x, n, 1, y);
}

template <bool kLog>
void softmax_columns(const double* x, int64_t rows, int64_t stride, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) softmax_line<kLog>(x + i, rows, stride, y + i);
}

double log_sum_exp_line(const double* x, int64_t n, int64_t stride) {
  const double top = line_max(x, n, stride);
  if (std::isinf(top)) return top;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i * stride] - top);
  return top + std::log(sum);
}

double row_log_sum_exp(const double* x, int64_t n) { return log_sum_exp_line(x, n, 1); }

void log_sum_exp_columns(const double* x, int64_t rows, int64_t stride, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = log_sum_exp_line(x + i, rows, stride);
}

constexpr RowKernels<double> kDoubleKernels{
    .max = &row_max,
    .max_into = &row_max_into,
    .exp_shifted = &row_exp_shifted,
    .sum = &row_sum,
    .sum_of_squares = &row_sum_of_squares,
    .moments = &row_moments,
    .sigmoid = &row_sigmoid,
    .tanh = &row_tanh,
    .gate = &row_gate,
    .scale = &row_scale,
    .affine = &row_affine,
    .normalize = &row_normalize,
    .affine_by_column = &row_affine_by_column,
    .softmax = &softmax_row<false>,
    .log_softmax = &softmax_row<true>,
    .softmax_columns = &softmax_columns<false>,
    .log_softmax_columns = &softmax_columns<true>,
    .log_sum_exp = &row_log_sum_exp,
    .log_sum_exp_columns = &log_sum_exp_columns,
};

RowKernels<float> pick() {
  return TIERUP_VARIANT(instruction_set(), row_kernels_base, row_kernels_avx2,
                        row_kernels_avx512)();
}

}  // namespace

template <>
const RowKernels<float>& row_kernels<float>() {
  static const RowKernels<float> kernels = pick();
  return kernels;
}

template <>
const RowKernels<double>& row_kernels<double>() {
  return kDoubleKernels;
}

}  // namespace tierup::kernels
