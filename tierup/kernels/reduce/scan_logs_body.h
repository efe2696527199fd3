// Running logarithms of sums of exponentials; compiled once per instruction set.
//
// A lane goes block by block. What is summed up are exponentials relative to the largest element so
// far, at the end of the block: exponentials and logarithms are then those of whole vectors, and
// only the sum goes number by number. Where a block's elements rise so far that its first sums
// would lose digits, or are not finite, each sum goes into the next by log(exp(a) + exp(b)).
#pragma once

#include <algorithm>
#include <cmath>

#include "tierup/kernels/reduce/scan_logs.h"
#include "tierup/kernels/simd/simd_exponential.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

using Wide = Vec<double>;
constexpr int64_t kBlock = 64;

// How far a block may rise. The logarithms of its first sums are about as large, and so are the
// digits that they lose to the largest element: for a float any whose exponential is a normal
// number, for a double what four bits hold.
template <typename T>
constexpr double kMostRise = sizeof(T) == 4 ? 700 : 16;

// log(exp(a) + exp(b)); equal infinities stay.
inline double log_add(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b && std::isinf(a)) return a;
  const double high = std::max(a, b);
  return std::log1p(std::exp(std::min(a, b) - high)) + high;
}
TIERUP_INLINE Wide log_add(Wide a, Wide b) {
  const Wide high = select(a > b, a, b);
  const Wide low = select(a > b, b, a);
  const Wide sum = high + log1p_of_part(exp(low - high));
  const Wide kept = select((a == b) & (abs(a) == Wide(INFINITY)), a, sum);
  return select((a != a) | (b != b), a + b, kept);
}

// The logarithm of a sum: the largest element, and the sum of exponentials relative to it.
struct Running {
  double top = -INFINITY;
  double sum = 1;
};

// Sums up the block's `count` elements, of which those behind are -infinity, in place.
template <typename T>
TIERUP_INLINE void scan_block(double (&block)[kBlock], int64_t count, Running& running) {
  double top = running.top;
  bool has_nan = false;
  for (int64_t i = 0; i < count; ++i) {
    top = std::max(top, block[i]);
    has_nan |= block[i] != block[i];
  }
  const double rise = top - std::max(running.top, block[0]);
  if (has_nan || !(rise <= kMostRise<T>)) {
    double total = running.top + std::log(running.sum);
    for (int64_t i = 0; i < count; ++i) block[i] = total = log_add(total, block[i]);
    running = {total, 1};
    return;
  }
  const Wide offset(top);
  for (int64_t i = 0; i < count; i += Wide::kLanes)
    exp(Wide::load(block + i) - offset).store(block + i);
  double sum = running.sum * std::exp(running.top - top);
  for (int64_t i = 0; i < count; ++i) block[i] = sum += block[i];
  for (int64_t i = 0; i < count; i += Wide::kLanes)
    (offset + log(Wide::load(block + i))).store(block + i);
  running = {top, sum};
}

template <typename T>
void scan_lane(const T* x, int64_t x_step, int64_t count, T* y, int64_t y_step) {
  Running running;
  double block[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t length = std::min(kBlock, count - first);
    for (int64_t i = 0; i < length; ++i) block[i] = x[(first + i) * x_step];
    std::fill(block + length, block + kBlock, -INFINITY);
    scan_block<T>(block, length, running);
    for (int64_t i = 0; i < length; ++i) y[(first + i) * y_step] = static_cast<T>(block[i]);
  }
}

template <typename T>
void scan_columns(const T* x, int64_t rows, int64_t stride, int64_t columns, T* y) {
  static_assert(ScanLogs<T>::kMostColumns == kBlock);
  double totals[kBlock];
  double row[kBlock];
  std::fill(totals, totals + kBlock, -INFINITY);
  std::fill(row, row + kBlock, 0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) row[j] = x[r * stride + j];
    for (int64_t j = 0; j < columns; j += Wide::kLanes)
      log_add(Wide::load(totals + j), Wide::load(row + j)).store(totals + j);
    for (int64_t j = 0; j < columns; ++j) y[r * stride + j] = static_cast<T>(totals[j]);
  }
}

}  // namespace

ScanLogs<float> float_scan_logs() { return {&scan_lane<float>, &scan_columns<float>}; }
ScanLogs<double> double_scan_logs() { return {&scan_lane<double>, &scan_columns<double>}; }

}  // namespace tierup::kernels::TIERUP_SIMD
