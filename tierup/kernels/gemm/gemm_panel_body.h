// Rows times a packed panel of columns, for gemm_block_*.cc; see gemm_block_body.h.
//
// As many rows go together as registers hold sums of: the panel then comes from the cache that it
// stays in once for all of them. Sums are in the order of the depth, as everywhere
// (gemm_row_body.h, decision 0019).
#pragma once

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// Vectors of columns beside one another for so many rows, and the most rows.
constexpr int panel_vectors_for(int rows) {
#if defined(__AVX512F__)
  return rows < 1 ? 0 : 4;
#elif defined(__AVX2__)
  return rows == 1 ? 8 : rows == 2 ? 4 : 2;
#else
  return rows == 1 ? 8 : rows == 2 ? 4 : 2;
#endif
}
#if defined(__AVX2__)
constexpr int kPanelRows = 6;
#else
constexpr int kPanelRows = 4;
#endif

// kRows rows of kVectors vectors of columns, of which `columns` are stored.
template <int kRows, int kVectors>
void multiply_panel_columns(const GemmPanel& p, int64_t row, int64_t first, int64_t columns) {
  const float* a = p.a + row * p.a_row;
  const float* b = p.panel + first;
  FloatVector sums[kRows][kVectors] = {};
  for (int64_t depth = 0; depth < p.k; ++depth, b += kRowPanel) {
    FloatVector right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) right[v] = load_vector(b + v * kVectorFloats);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const FloatVector left = a[i * p.a_row + depth] - FloatVector{};
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add(left, right[v], sums[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    float* c = p.c + (row + i) * p.c_row + first;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = columns - v * kVectorFloats;
      if (left > 0) store_columns(c + v * kVectorFloats, left, sums[i][v]);
    }
  }
}

template <int kRows>
void multiply_panel_rows(const GemmPanel& p, int64_t row) {
  constexpr int kVectors = panel_vectors_for(kRows);
  for (int64_t first = 0; first < p.n; first += kVectors * kVectorFloats)
    multiply_panel_columns<kRows, kVectors>(p, row, first, p.n - first);
}

// Bands of nearly one height, the higher ones first.
void run_panel_f32(const GemmPanel& p) {
  const int64_t bands = (p.m + kPanelRows - 1) / kPanelRows;
  for (int64_t i = 0, row = 0; i < bands; ++i) {
    const int64_t rows = p.m / bands + (i < p.m % bands ? 1 : 0);
    switch (rows) {
      case 1: multiply_panel_rows<1>(p, row); break;
      case 2: multiply_panel_rows<2>(p, row); break;
      case 3: multiply_panel_rows<3>(p, row); break;
#if defined(__AVX2__)
      case 4: multiply_panel_rows<4>(p, row); break;
      case 5: multiply_panel_rows<5>(p, row); break;
#endif
      default: multiply_panel_rows<kPanelRows>(p, row); break;
    }
    row += rows;
  }
}

}  // namespace
}  // namespace tierup::kernels
