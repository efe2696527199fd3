// The f64 row kernels, loops with exponentials by vectors, and the choice of table.
#include "tierup/kernels/gemm/row_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// Elements that are folded side by side, which the compiler makes vectors of.
constexpr int64_t kTogether = 8;
// Columns that are gone down at once.
constexpr int64_t kColumns = 64;

double larger(double a, double b) { return a > b || a != a ? a : b; }  // NaN wins.

// The vector form of a body over n elements, in place.
void run_in_place(Body body, double* x, int64_t n) {
  const char* in = reinterpret_cast<const char*>(x);
  RunTable::instance().find(body, ScalarType::kDouble)->run(reinterpret_cast<char*>(x), &in, n);
}

double row_max(const double* x, int64_t n) {
  std::array<double, kTogether> best;
  best.fill(-std::numeric_limits<double>::infinity());
  int64_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    for (int64_t j = 0; j < kTogether; ++j) best[j] = larger(x[i + j], best[j]);
  }
  for (; i < n; ++i) best[0] = larger(x[i], best[0]);
  for (const double value : best) best[0] = larger(value, best[0]);
  return best[0];
}

void row_max_into(const double* x, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = larger(x[i], y[i]);
}

// Of value(element) for all.
template <typename Value>
double sum_of(const double* x, int64_t n, const Value& value) {
  std::array<double, kTogether> sums{};
  int64_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    for (int64_t j = 0; j < kTogether; ++j) sums[j] += value(x[i + j]);
  }
  for (; i < n; ++i) sums[0] += value(x[i]);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double row_sum(const double* x, int64_t n) {
  return sum_of(x, n, [](double v) { return v; });
}

double row_exp_shifted(double* x, int64_t n, double shift) {
  for (int64_t i = 0; i < n; ++i) x[i] -= shift;
  run_in_place(Body::kExp, x, n);
  return row_sum(x, n);
}

double row_sum_of_squares(const double* x, int64_t n) {
  return sum_of(x, n, [](double v) { return v * v; });
}

void row_moments(const double* x, int64_t n, double* mean, double* variance) {
  const double center = row_sum(x, n) / static_cast<double>(n);
  *mean = center;
  *variance = sum_of(x, n, [center](double v) { return (v - center) * (v - center); }) /
              static_cast<double>(n);
}

void row_sigmoid(double* x, int64_t n) { run_in_place(Body::kSigmoid, x, n); }

void row_tanh(double* x, int64_t n) { run_in_place(Body::kTanh, x, n); }

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

// The sum of exp(x - top), piece by piece. `shifted` takes x - top, if it is there.
double sum_of_exponentials(const double* x, int64_t n, double top, double* shifted) {
  std::array<double, kColumns> powers;
  double sum = 0;
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t count = std::min(kColumns, n - first);
    for (int64_t i = 0; i < count; ++i) powers[i] = x[first + i] - top;
    if (shifted != nullptr) std::copy_n(powers.data(), count, shifted + first);
    run_in_place(Body::kExp, powers.data(), count);
    sum += row_sum(powers.data(), count);
  }
  return sum;
}

void softmax_row(const double* x, int64_t n, double* y) {
  std::copy_n(x, n, y);
  const double sum = row_exp_shifted(y, n, row_max(x, n));
  for (int64_t i = 0; i < n; ++i) y[i] /= sum;
}

void log_softmax_row(const double* x, int64_t n, double* y) {
  const double log_sum = std::log(sum_of_exponentials(x, n, row_max(x, n), y));
  for (int64_t i = 0; i < n; ++i) y[i] -= log_sum;
}

double row_log_sum_exp(const double* x, int64_t n) {
  const double top = row_max(x, n);
  if (std::isinf(top)) return top;
  return top + std::log(sum_of_exponentials(x, n, top, nullptr));
}

using Columns = std::array<double, kColumns>;

// Of at most kColumns columns: their largest elements, and what exp(x - top) of them sum up to;
// each(row, shifted, powers) is called for all rows.
template <typename Each>
void fold_columns(const double* x, int64_t rows, int64_t stride, int64_t n, Columns& top,
                  Columns& sum, const Each& each) {
  top.fill(-std::numeric_limits<double>::infinity());
  sum.fill(0);
  Columns shifted;
  for (int64_t r = 0; r < rows; ++r) row_max_into(x + r * stride, n, top.data());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < n; ++j) shifted[j] = x[r * stride + j] - top[j];
    Columns powers = shifted;
    run_in_place(Body::kExp, powers.data(), n);
    for (int64_t j = 0; j < n; ++j) sum[j] += powers[j];
    each(r, shifted, powers);
  }
}

template <bool kLog>
void softmax_columns(const double* x, int64_t rows, int64_t stride, int64_t n, double* y) {
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t count = std::min(kColumns, n - first);
    double* to = y + first;
    Columns top;
    Columns sum;
    fold_columns(x + first, rows, stride, count, top, sum,
                 [&](int64_t r, const Columns& shifted, const Columns& powers) {
                   std::copy_n((kLog ? shifted : powers).data(), count, to + r * stride);
                 });
    for (int64_t j = 0; kLog && j < count; ++j) sum[j] = std::log(sum[j]);
    for (int64_t r = 0; r < rows; ++r) {
      double* row = to + r * stride;
      for (int64_t j = 0; j < count; ++j) row[j] = kLog ? row[j] - sum[j] : row[j] / sum[j];
    }
  }
}

void log_sum_exp_columns(const double* x, int64_t rows, int64_t stride, int64_t n, double* y) {
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t count = std::min(kColumns, n - first);
    Columns top;
    Columns sum;
    fold_columns(x + first, rows, stride, count, top, sum, [](auto&&...) {});
    for (int64_t j = 0; j < count; ++j)
      y[first + j] = std::isinf(top[j]) ? top[j] : top[j] + std::log(sum[j]);
  }
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
    .softmax = &softmax_row,
    .log_softmax = &log_softmax_row,
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

NormalizeColumns normalize_columns() {
  return TIERUP_VARIANT(instruction_set(), normalize_columns_base, normalize_columns_avx2,
                        normalize_columns_avx512)();
}

}  // namespace tierup::kernels
