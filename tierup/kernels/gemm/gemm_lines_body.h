// A few rows times columns that each stand in one piece, for gemm_block_*.cc; see
// gemm_block_body.h.
//
// Such is every linear layer's weight. Squares of it are transposed in registers and multiplied
// there: B is read once where it stands, for all rows of a band, and nothing is packed. Sums take
// their products in the order of the depth (gemm_row_body.h).
#pragma once

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// Rows whose sums have registers beside a square.
#if defined(__AVX512F__)
constexpr int kBandRows = 8;
#else
constexpr int kBandRows = 4;
#endif

// A vector of columns from `first` on, of which `columns` are there, for kRows rows from `row` on.
template <int kRows>
void multiply_lines(const GemmLines& p, int64_t row, int64_t first, int64_t columns) {
  const float* lines[kVectorFloats];
  for (int64_t i = 0; i < kVectorFloats; ++i)
    lines[i] = p.b + (first + (i < columns ? i : 0)) * p.b_col;
  const float* x = p.x + row * p.x_row;
  FloatVector sums[kRows] = {};
  FloatVector square[kVectorFloats];
  const auto add_product = [&](int64_t depth, int64_t i) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      sums[r] = multiply_add(x[r * p.x_row + depth + i] - FloatVector{}, square[i], sums[r]);
    }
  };
  int64_t depth = 0;
  for (; depth + kVectorFloats <= p.k; depth += kVectorFloats) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectorFloats; ++i) square[i] = load_vector(lines[i] + depth);
    transpose(square);
#pragma GCC unroll 16
    for (int i = 0; i < kVectorFloats; ++i) add_product(depth, i);
  }
  if (const int64_t left = p.k - depth; left > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectorFloats; ++i) square[i] = load_part(lines[i] + depth, left);
    transpose(square);
    for (int64_t i = 0; i < left; ++i) add_product(depth, i);
  }
  const FloatVector bias = p.bias == nullptr ? FloatVector{} : load_part(p.bias + first, columns);
  for (int r = 0; r < kRows; ++r) {
    const FloatVector sum = p.bias == nullptr ? sums[r] : sums[r] + bias;
    store_part(p.out + (row + r) * p.out_row + first, columns, sum);
  }
}

// Of all rows, band by band: the columns stay near.
inline void multiply_line_bands(const GemmLines& p, int64_t first, int64_t columns) {
  for (int64_t row = 0; row < p.m; row += kBandRows) {
    switch (p.m - row) {
      case 1: multiply_lines<1>(p, row, first, columns); break;
      case 2: multiply_lines<2>(p, row, first, columns); break;
      case 3: multiply_lines<3>(p, row, first, columns); break;
#if defined(__AVX512F__)
      case 4: multiply_lines<4>(p, row, first, columns); break;
      case 5: multiply_lines<5>(p, row, first, columns); break;
      case 6: multiply_lines<6>(p, row, first, columns); break;
      case 7: multiply_lines<7>(p, row, first, columns); break;
#endif
      default: multiply_lines<kBandRows>(p, row, first, columns);
    }
  }
}

inline void run_lines_f32(const GemmLines& p) {
  for (int64_t j = 0; j < p.n; j += kVectorFloats)
    multiply_line_bands(p, j, p.n - j < kVectorFloats ? p.n - j : kVectorFloats);
}

}  // namespace
}  // namespace tierup::kernels
