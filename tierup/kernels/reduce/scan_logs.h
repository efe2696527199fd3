// Running logarithms of sums of exponentials, for single rows of numbers.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// For elements of type T, computed in double.
template <typename T>
struct ScanLogs {
  static constexpr int64_t kMostColumns = 64;
  // y[i] = log(exp(x[0]) + ... + exp(x[i])); steps in elements.
  void (*lane)(const T* x, int64_t x_step, int64_t count, T* y, int64_t y_step);
  // The same down the columns of a matrix: `rows` rows that lie `stride` elements apart, at most
  // kMostColumns columns.
  void (*columns)(const T* x, int64_t rows, int64_t stride, int64_t columns, T* y);
};

// The best table for this processor.
template <typename T>
ScanLogs<T> scan_logs();
template <>
ScanLogs<float> scan_logs<float>();
template <>
ScanLogs<double> scan_logs<double>();

#define TIERUP_SCAN_LOGS(name)         \
  namespace name {                     \
  ScanLogs<float> float_scan_logs();   \
  ScanLogs<double> double_scan_logs(); \
  }
TIERUP_SCAN_LOGS(simd_base)
TIERUP_SCAN_LOGS(simd_avx2)
TIERUP_SCAN_LOGS(simd_avx512)
#undef TIERUP_SCAN_LOGS

}  // namespace tierup::kernels
