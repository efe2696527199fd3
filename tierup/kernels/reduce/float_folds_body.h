// The code of float_folds.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <array>
#include <cstring>
#include <limits>

#include "tierup/kernels/reduce/float_folds.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kLanes = 32;
using Vector = float __attribute__((vector_size(64)));  // Half of the lanes.

Vector load(const float* p) {
  Vector v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

struct Adder {
  static constexpr float kStart = 0;
  template <typename V>
  static V merge(V a, V b) {
    return a + b;
  }
  static float merge(float a, float b) { return a + b; }
};
struct Maximum {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  template <typename V>
  static V merge(V a, V b) {
    return (a > b) | (a != a) ? a : b;
  }
  static float merge(float a, float b) { return a > b || a != a ? a : b; }
};
struct Minimum {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  template <typename V>
  static V merge(V a, V b) {
    return (a < b) | (a != a) ? a : b;
  }
  static float merge(float a, float b) { return a < b || a != a ? a : b; }
};

template <typename Op>
float fold(const float* x, int64_t n) {
  Vector low = Vector{} + Op::kStart;
  Vector high = low;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    low = Op::merge(low, load(x + i));
    high = Op::merge(high, load(x + i + kLanes / 2));
  }
  std::array<float, kLanes> lane;
  std::memcpy(lane.data(), &low, sizeof(low));
  std::memcpy(lane.data() + kLanes / 2, &high, sizeof(high));
  for (; i < n; ++i) lane[0] = Op::merge(lane[0], x[i]);
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] = Op::merge(lane[j], lane[j + width]);
  }
  return lane[0];
}

template <typename V>
V load_as(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

// Loops over the sums are written out by the compiler: only so do sums stay in registers. The last
// vector ends with the last column, and does some columns as the one before does them.
template <typename Op, typename V, int kVectors>
void fold_vectors(const float* x, int64_t rows, int64_t stride, int64_t columns, float* acc) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(V) / sizeof(float));
  const int64_t last = columns - kWidth;
  V sums[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    sums[v] = load_as<V>(acc + (v + 1 < kVectors ? v * kWidth : last));
  for (int64_t r = 0; r < rows; ++r, x += stride) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[v] = Op::merge(sums[v], load_as<V>(x + (v + 1 < kVectors ? v * kWidth : last)));
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    std::memcpy(acc + (v + 1 < kVectors ? v * kWidth : last), &sums[v], sizeof(sums[v]));
}

template <typename Op>
void fold_rows(const float* x, int64_t rows, int64_t stride, int64_t columns, float* acc) {
  using Half = float __attribute__((vector_size(32)));
  using Quarter = float __attribute__((vector_size(16)));
  if (columns > 48) return fold_vectors<Op, Vector, 4>(x, rows, stride, columns, acc);
  if (columns > 32) return fold_vectors<Op, Vector, 3>(x, rows, stride, columns, acc);
  if (columns > 16) return fold_vectors<Op, Vector, 2>(x, rows, stride, columns, acc);
  if (columns == 16) return fold_vectors<Op, Vector, 1>(x, rows, stride, columns, acc);
  if (columns >= 8) return fold_vectors<Op, Half, 2>(x, rows, stride, columns, acc);
  if (columns >= 4) return fold_vectors<Op, Quarter, 2>(x, rows, stride, columns, acc);
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for (int64_t j = 0; j < columns; ++j) acc[j] = Op::merge(acc[j], x[j]);
  }
}

using WideVector = double __attribute__((vector_size(64)));  // A quarter of the lanes.

WideVector load_wide(const float* p) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(_mm256_loadu_ps(p));
#else
  using Part = float __attribute__((vector_size(32)));
  Part part;
  std::memcpy(&part, p, sizeof(part));
  return __builtin_convertvector(part, WideVector);
#endif
}

// The sum of value(x[i]) in double; value takes a WideVector or a double.
template <typename Value>
double wide_fold(const float* x, int64_t n, const Value& value) {
  constexpr int kVectors = 4;
  WideVector sums[kVectors]{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[v] += value(load_wide(x + i + v * 8));
  }
  std::array<double, kLanes> lane;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) std::memcpy(&lane[v * 8], &sums[v], sizeof(sums[v]));
  for (; i < n; ++i) lane[0] += value(static_cast<double>(x[i]));
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lane[j] += lane[j + width];
  }
  return lane[0];
}
double wide_sum(const float* x, int64_t n) {
  return wide_fold(x, n, [](auto v) { return v; });
}
double wide_squares(const float* x, int64_t n, double center) {
  return wide_fold(x, n, [center](auto v) { return (v - center) * (v - center); });
}

constexpr FloatFolds kFolds{fold<Adder>,        fold<Maximum>,      fold<Minimum>, fold_rows<Adder>,
                            fold_rows<Maximum>, fold_rows<Minimum>, wide_sum,      wide_squares};

}  // namespace
}  // namespace tierup::kernels
