// The f64 rows with exponentials; compiled once per instruction set by
// row_doubles_{base,avx2,avx512}.cc.
//
// Rows are worked on in eight lanes whatever the instruction set, so that sums add up in the same
// order.
#pragma once

#include <cmath>

#include "tierup/kernels/gemm/row_kernels.h"
#include "tierup/kernels/simd/simd_exponential.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

using Wide = Vec<double>;
constexpr int64_t kEight = 8;
constexpr int kEightParts = kEight / Wide::kLanes;

struct Eight {
  Wide part[kEightParts];
};
template <typename Make>
TIERUP_INLINE Eight each_of_eight(const Make& make) {
  Eight result;
#pragma GCC unroll 4
  for (int i = 0; i < kEightParts; ++i) result.part[i] = make(i);
  return result;
}
TIERUP_INLINE Eight eight_of(double value) {
  return each_of_eight([&](int) TIERUP_LAMBDA { return Wide(value); });
}
TIERUP_INLINE Eight load_eight(const double* x) {
  return each_of_eight([&](int i) TIERUP_LAMBDA { return Wide::load(x + i * Wide::kLanes); });
}
TIERUP_INLINE void store_eight(double* y, const Eight& eight) {
#pragma GCC unroll 4
  for (int i = 0; i < kEightParts; ++i) eight.part[i].store(y + i * Wide::kLanes);
}
// The first `count`, and `rest` in the other lanes.
TIERUP_INLINE Eight load_eight(const double* x, int64_t count, double rest) {
  if (count == kEight) return load_eight(x);
  double all[kEight];
  for (int64_t i = 0; i < kEight; ++i) all[i] = i < count ? x[i] : rest;
  return load_eight(all);
}
TIERUP_INLINE void store_eight(double* y, const Eight& eight, int64_t count) {
  if (count == kEight) return store_eight(y, eight);
  double all[kEight];
  store_eight(all, eight);
  for (int64_t i = 0; i < count; ++i) y[i] = all[i];
}
TIERUP_INLINE Eight operator+(const Eight& a, const Eight& b) {
  return each_of_eight([&](int i) TIERUP_LAMBDA { return a.part[i] + b.part[i]; });
}
TIERUP_INLINE Eight operator-(const Eight& a, const Eight& b) {
  return each_of_eight([&](int i) TIERUP_LAMBDA { return a.part[i] - b.part[i]; });
}
TIERUP_INLINE Eight operator/(const Eight& a, const Eight& b) {
  return each_of_eight([&](int i) TIERUP_LAMBDA { return a.part[i] / b.part[i]; });
}
TIERUP_INLINE Eight exp(const Eight& x) {
  return each_of_eight([&](int i) TIERUP_LAMBDA { return exp(x.part[i]); });
}
TIERUP_INLINE Eight log(const Eight& x) {
  return each_of_eight([&](int i) TIERUP_LAMBDA { return log(x.part[i]); });
}
// NaN wins.
TIERUP_INLINE Eight larger(const Eight& a, const Eight& b) {
  return each_of_eight([&](int i) TIERUP_LAMBDA {
    return select((a.part[i] > b.part[i]) | (a.part[i] != a.part[i]), a.part[i], b.part[i]);
  });
}
inline double larger(double a, double b) { return a > b || a != a ? a : b; }

constexpr double kLowest = -INFINITY;

// body(index, count) for pieces of eight, the last perhaps shorter.
template <typename Body>
TIERUP_INLINE void for_eights(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kEight <= n; i += kEight) body(i, kEight);
  if (i < n) body(i, n - i);
}
// As for_eights(), of which two are under way at a time: body(index, count, way).
template <typename Body>
TIERUP_INLINE void for_eights_in_ways(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 2 * kEight <= n; i += 2 * kEight) {
    body(i, kEight, 0);
    body(i + kEight, kEight, 1);
  }
  for (int way = 0; i < n; i += kEight, ++way) body(i, n - i < kEight ? n - i : kEight, way);
}

template <typename Combine>
TIERUP_INLINE double fold_lanes(const Eight& eight, const Combine& combine) {
  double all[kEight];
  store_eight(all, eight);
  for (int64_t i = 1; i < kEight; ++i) all[0] = combine(all[0], all[i]);
  return all[0];
}
inline double sum_of_lanes(const Eight& eight) {
  return fold_lanes(eight, [](double a, double b) { return a + b; });
}

double row_max(const double* x, int64_t n) {
  Eight best[2] = {eight_of(kLowest), eight_of(kLowest)};
  for_eights_in_ways(n, [&](int64_t i, int64_t count, int way) TIERUP_LAMBDA {
    best[way] = larger(load_eight(x + i, count, kLowest), best[way]);
  });
  return fold_lanes(larger(best[0], best[1]), [](double a, double b) { return larger(b, a); });
}

// What exp(x - top) sums up to; each(index, count, shifted, power) sees the pieces.
template <typename Each>
TIERUP_INLINE double sum_of_powers(const double* x, int64_t n, double top, const Each& each) {
  const Eight offset = eight_of(top);
  Eight sums[2] = {eight_of(0), eight_of(0)};
  for_eights_in_ways(n, [&](int64_t i, int64_t count, int way) TIERUP_LAMBDA {
    const Eight shifted = load_eight(x + i, count, kLowest) - offset;
    const Eight power = exp(shifted);
    each(i, count, shifted, power);
    sums[way] = sums[way] + power;
  });
  return sum_of_lanes(sums[0] + sums[1]);
}

double row_exp_shifted(double* x, int64_t n, double shift) {
  return sum_of_powers(x, n, shift,
                       [&](int64_t i, int64_t count, const Eight&, const Eight& power)
                           TIERUP_LAMBDA { store_eight(x + i, power, count); });
}

void softmax_row(const double* x, int64_t n, double* y) {
  const double sum = sum_of_powers(x, n, row_max(x, n),
                                   [&](int64_t i, int64_t count, const Eight&, const Eight& power)
                                       TIERUP_LAMBDA { store_eight(y + i, power, count); });
  const Eight divisor = eight_of(sum);
  for_eights(n, [&](int64_t i, int64_t count) TIERUP_LAMBDA {
    store_eight(y + i, load_eight(y + i, count, 0) / divisor, count);
  });
}

void log_softmax_row(const double* x, int64_t n, double* y) {
  const double sum = sum_of_powers(x, n, row_max(x, n),
                                   [&](int64_t i, int64_t count, const Eight& shifted, const Eight&)
                                       TIERUP_LAMBDA { store_eight(y + i, shifted, count); });
  const Eight log_sum = eight_of(std::log(sum));
  for_eights(n, [&](int64_t i, int64_t count) TIERUP_LAMBDA {
    store_eight(y + i, load_eight(y + i, count, 0) - log_sum, count);
  });
}

template <void (*kRow)(const double*, int64_t, double*)>
void each_row(const double* x, int64_t rows, int64_t n, double* y) {
  for (int64_t r = 0; r < rows; ++r) kRow(x + r * n, n, y + r * n);
}

void row_log_sum_exp(const double* x, int64_t n, double* y) {
  const double top = row_max(x, n);
  *y = std::isinf(top) ? top
                       : top + std::log(sum_of_powers(x, n, top, [](auto&&...) TIERUP_LAMBDA {}));
}

void rows_log_sum_exp(const double* x, int64_t rows, int64_t n, double* y) {
  for (int64_t r = 0; r < rows; ++r) row_log_sum_exp(x + r * n, n, y + r);
}

// Of eight columns: their largest elements, and the sums of the powers that each(row, shifted,
// power) sees.
template <typename Each>
TIERUP_INLINE Eight fold_columns(const double* x, int64_t rows, int64_t stride, int64_t count,
                                 Eight& top, const Each& each) {
  top = eight_of(kLowest);
  for (int64_t r = 0; r < rows; ++r) top = larger(load_eight(x + r * stride, count, 0), top);
  Eight sum = eight_of(0);
  for (int64_t r = 0; r < rows; ++r) {
    const Eight shifted = load_eight(x + r * stride, count, 0) - top;
    const Eight power = exp(shifted);
    each(r, shifted, power);
    sum = sum + power;
  }
  return sum;
}

template <bool kLog>
void softmax_columns(const double* x, int64_t rows, int64_t stride, int64_t n, double* y) {
  for_eights(n, [&](int64_t i, int64_t count) TIERUP_LAMBDA {
    double* const to = y + i;
    Eight top;
    Eight sum = fold_columns(
        x + i, rows, stride, count, top,
        [&](int64_t r, const Eight& shifted, const Eight& power)
            TIERUP_LAMBDA { store_eight(to + r * stride, kLog ? shifted : power, count); });
    if constexpr (kLog) sum = log(sum);
    for (int64_t r = 0; r < rows; ++r) {
      const Eight numbers = load_eight(to + r * stride, count, 0);
      store_eight(to + r * stride, kLog ? numbers - sum : numbers / sum, count);
    }
  });
}

void log_sum_exp_columns(const double* x, int64_t rows, int64_t stride, int64_t n, double* y) {
  for_eights(n, [&](int64_t i, int64_t count) TIERUP_LAMBDA {
    Eight top;
    const Eight sum = fold_columns(x + i, rows, stride, count, top, [](auto&&...) TIERUP_LAMBDA {});
    const Eight logarithm = log(sum);
    store_eight(y + i, each_of_eight([&](int j) TIERUP_LAMBDA {
                  const Wide largest = top.part[j];
                  return select(abs(largest) == Wide(INFINITY), largest,
                                largest + logarithm.part[j]);
                }),
                count);
  });
}

}  // namespace

void set_double_rows(RowKernels<double>& kernels) {
  kernels.max = &row_max;
  kernels.exp_shifted = &row_exp_shifted;
  kernels.softmax = &each_row<&softmax_row>;
  kernels.log_softmax = &each_row<&log_softmax_row>;
  kernels.softmax_columns = &softmax_columns<false>;
  kernels.log_softmax_columns = &softmax_columns<true>;
  kernels.log_sum_exp = &rows_log_sum_exp;
  kernels.log_sum_exp_columns = &log_sum_exp_columns;
}

}  // namespace tierup::kernels::TIERUP_SIMD
