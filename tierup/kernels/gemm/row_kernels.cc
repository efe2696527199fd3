// The f64 row kernels that are plain loops, and the choice of tables.
#include "tierup/kernels/gemm/row_kernels.h"

#include <array>
#include <cmath>
#include <numeric>

#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// Elements that are folded side by side, which the compiler makes vectors of.
constexpr int64_t kTogether = 8;

double larger(double a, double b) { return a > b || a != a ? a : b; }  // NaN wins.

// The vector form of a body over n elements, in place.
void run_in_place(Body body, double* x, int64_t n) {
  const char* in = reinterpret_cast<const char*>(x);
  RunTable::instance().find(body, ScalarType::kDouble)->run(reinterpret_cast<char*>(x), &in, n);
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

RowKernels<double> make_double_kernels() {
  RowKernels<double> kernels{};
  kernels.max_into = &row_max_into;
  kernels.sum = &row_sum;
  kernels.sum_of_squares = &row_sum_of_squares;
  kernels.moments = &row_moments;
  kernels.sigmoid = &row_sigmoid;
  kernels.tanh = &row_tanh;
  kernels.gate = &row_gate;
  kernels.scale = &row_scale;
  kernels.affine = &row_affine;
  kernels.normalize = &row_normalize;
  kernels.affine_by_column = &row_affine_by_column;
  TIERUP_VARIANT(instruction_set(), simd_base::set_double_rows, simd_avx2::set_double_rows,
                 simd_avx512::set_double_rows)
  (kernels);
  return kernels;
}

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
  static const RowKernels<double> kernels = make_double_kernels();
  return kernels;
}

NormalizeColumns normalize_columns() {
  return TIERUP_VARIANT(instruction_set(), normalize_columns_base, normalize_columns_avx2,
                        normalize_columns_avx512)();
}

}  // namespace tierup::kernels
