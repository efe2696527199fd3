// One row times a matrix, for gemm_block_*.cc; see gemm_block_body.h.
//
// However the matrix lies, a column's sum begins with zero and takes its products one by one in the
// order of the depth, as tile() does too: which kernel does a product, and whether the matrix was
// packed before, never shows in the result.
#pragma once

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/gemm/gemm_lines_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

inline void finish_row(const GemmRow& row, int64_t first, int64_t count, FloatVector sum) {
  if (count == kVectorFloats) {
    if (row.bias != nullptr) sum += load_vector(row.bias + first);
    store_vector(row.out + first, sum);
    return;
  }
  if (row.bias != nullptr) sum += load_part(row.bias + first, count);
  store_part(row.out + first, count, sum);
}

// kCount vectors of columns that stand side by side.
template <int kCount>
void scale_rows(const GemmRow& row, int64_t first) {
  FloatVector sums[kCount] = {};
  for (int64_t p = 0; p < row.k; ++p) {
    const FloatVector x = row.x[p] - FloatVector{};
    const float* source = row.b + p * row.b_row + first;
#pragma GCC unroll 8
    for (int c = 0; c < kCount; ++c) {
      sums[c] = multiply_add(x, load_vector(source + c * kVectorFloats), sums[c]);
    }
  }
  for (int c = 0; c < kCount; ++c)
    finish_row(row, first + c * kVectorFloats, kVectorFloats, sums[c]);
}

// The last columns, fewer than a vector has.
inline void scale_last(const GemmRow& row, int64_t first) {
  const int64_t count = row.n - first;
  FloatVector sum{};
  for (int64_t p = 0; p < row.k; ++p) {
    sum = multiply_add(row.x[p] - FloatVector{}, load_part(row.b + p * row.b_row + first, count),
                       sum);
  }
  finish_row(row, first, count, sum);
}

// The rows of B a few at a time, each from end to end, as memory likes them; sums stand in `out`
// meanwhile. Of whole vectors of columns.
inline void sum_rows(const GemmRow& row, int64_t columns) {
  constexpr int kAtOnce = 8;
  for (int64_t first = 0; first < row.k; first += kAtOnce) {
    const int64_t rows = row.k - first < kAtOnce ? row.k - first : kAtOnce;
    const float* source = row.b + first * row.b_row;
    for (int64_t j = 0; j < columns; j += kVectorFloats) {
      FloatVector sum = first == 0 ? FloatVector{} : load_vector(row.out + j);
      for (int64_t p = 0; p < rows; ++p) {
        sum = multiply_add(row.x[first + p] - FloatVector{},
                           load_vector(source + p * row.b_row + j), sum);
      }
      store_vector(row.out + j, sum);
    }
  }
  for (int64_t j = 0; row.bias != nullptr && j < columns; ++j) row.out[j] += row.bias[j];
}

// A vector of sums, of lines that each stand in one piece: squares of both sides are transposed in
// registers.
inline void run_dots_f32(const GemmDots& dots) {
  for (int64_t first = 0; first < dots.count; first += kVectorFloats) {
    const int64_t left = dots.count - first;
    const int64_t count = left < kVectorFloats ? left : kVectorFloats;
    const float* x = dots.x + first * dots.x_line;
    const float* y = dots.y + first * dots.y_line;
    FloatVector sum{};
    for (int64_t p = 0; p < dots.k; p += kVectorFloats) {
      const int64_t depth = dots.k - p < kVectorFloats ? dots.k - p : kVectorFloats;
      FloatVector left_square[kVectorFloats];
      FloatVector right_square[kVectorFloats];
      for (int64_t i = 0; i < kVectorFloats; ++i) {
        const int64_t line = i < count ? i : 0;
        left_square[i] = load_part(x + line * dots.x_line + p, depth);
        right_square[i] = load_part(y + line * dots.y_line + p, depth);
      }
      transpose(left_square);
      transpose(right_square);
      for (int64_t i = 0; i < depth; ++i) sum = multiply_add(left_square[i], right_square[i], sum);
    }
    store_part(dots.out + first, count, sum);
  }
}

inline void run_row_f32(const GemmRow& row) {
  constexpr int64_t kNearFloats = int64_t{1} << 16;  // What the nearer caches hold of B.
  constexpr int kWide = kVectorFloats == 4 ? 8 : kRowPanel / kVectorFloats;  // In registers.
  if (row.b_col != 1)
    return run_lines_f32({1, row.n, row.k, row.x, 0, row.b, row.b_col, row.bias, row.out, 0});
  int64_t j = 0;
  if (row.n * row.k > kNearFloats && row.b_row > kRowPanel) {
    j = row.n - row.n % kVectorFloats;
    sum_rows(row, j);
  }
  for (; j + kWide * kVectorFloats <= row.n; j += kWide * kVectorFloats) scale_rows<kWide>(row, j);
  for (; j + kVectorFloats <= row.n; j += kVectorFloats) scale_rows<1>(row, j);
  if (j < row.n) scale_last(row, j);
}

}  // namespace
}  // namespace tierup::kernels
