// Rows times a packed panel of columns, in registers: the heart of the convolutions of our own.
// Compiled once per instruction set; everything is local to the including file.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>
#include <utility>

#include "tierup/kernels/lanes_body.h"

namespace tierup::kernels::net {
namespace {

// Rows that stay in registers, over two vectors of columns.
#if defined(__AVX512F__)
constexpr int kPanelRows = 14;
#elif defined(__AVX2__)
constexpr int kPanelRows = 6;
#else
constexpr int kPanelRows = 4;
#endif
constexpr int kPanelColumns = 32;
constexpr int kVectorFloats = kLaneVectorBytes / 4;

inline LaneVector load_vector(const float* x) {
  LaneVector result;
  std::memcpy(&result, x, sizeof(result));
  return result;
}

inline void store_vector(float* x, LaneVector value) { std::memcpy(x, &value, sizeof(value)); }

inline LaneVector multiply_add(LaneVector a, LaneVector b, LaneVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// Lines of memory that are wanted soon: one is asked for at each step.
struct Ahead {
  const char* next;
  int64_t step;  // Bytes; 0 where there is nothing to ask for.
};

// c (kRows x two vectors) = or += a (kRows x depth, rows kStride apart) * b (depth x 32).
template <int kRows, int kStride, bool kPrefetchesPanel>
void multiply_rows(const float* a, const float* b, const float* next_b, int64_t depth, float* c,
                   int64_t c_stride, bool accumulates, Ahead& ahead) {
  LaneVector sums[kRows][2];
  if (accumulates) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      sums[r][0] = load_vector(c + r * c_stride);
      sums[r][1] = load_vector(c + r * c_stride + kVectorFloats);
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = LaneVector{};
  }
  const char* next = ahead.next;
  for (int64_t k = 0; k < depth; ++k) {
    const LaneVector left = load_vector(b + k * kPanelColumns);
    const LaneVector right = load_vector(b + k * kPanelColumns + kVectorFloats);
    __builtin_prefetch(next, 0, 2);
    next += ahead.step;
    if (kPrefetchesPanel) {
      __builtin_prefetch(next_b + k * kPanelColumns, 0, 3);
      __builtin_prefetch(next_b + k * kPanelColumns + 16, 0, 3);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const LaneVector factor = a[r * kStride + k] - LaneVector{};
      sums[r][0] = multiply_add(factor, left, sums[r][0]);
      sums[r][1] = multiply_add(factor, right, sums[r][1]);
    }
  }
  ahead.next = next;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    store_vector(c + r * c_stride, sums[r][0]);
    store_vector(c + r * c_stride + kVectorFloats, sums[r][1]);
  }
}

template <int kStride>
using MultiplyRows = void (*)(const float*, const float*, const float*, int64_t, float*, int64_t,
                              bool, Ahead&);

template <int kStride, bool kP, int... kCounts>
constexpr MultiplyRows<kStride> multiply_rows_of(int rows, std::integer_sequence<int, kCounts...>) {
  constexpr MultiplyRows<kStride> kTable[] = {&multiply_rows<kCounts + 1, kStride, kP>...};
  return kTable[rows - 1];
}

// c (rows x 32) = or += a (rows x depth) * b (depth x 32); rows in blocks of nearly one size.
template <int kStride>
void multiply_panel(const float* a, const float* b, const float* next_b, int64_t rows,
                    int64_t depth, float* c, int64_t c_stride, bool accumulates, Ahead& ahead) {
  const int64_t blocks = (rows + kPanelRows - 1) / kPanelRows;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t first = rows * i / blocks;
    const auto count = static_cast<int>(rows * (i + 1) / blocks - first);
    const auto counts = std::make_integer_sequence<int, kPanelRows>();
    const auto kernel = i + 1 == blocks ? multiply_rows_of<kStride, true>(count, counts)
                                        : multiply_rows_of<kStride, false>(count, counts);
    for (int v = 0; v < kPanelColumns; v += 2 * kVectorFloats)
      kernel(a + first * kStride, b + v, next_b, depth, c + first * c_stride + v, c_stride,
             accumulates, ahead);
  }
}

}  // namespace
}  // namespace tierup::kernels::net
