// Rows times a packed panel of columns, for gemm_block_*.cc; see gemm_block_body.h.
//
// As many rows go together as registers hold sums of: the panel then comes from the cache that it
// stays in once for all of them. Sums are in the order of the depth, as everywhere
// (gemm_row_body.h, decision 0019).
#pragma once

#include <algorithm>

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

// Where vectors are shorter than a panel, it is read in several passes: slices of its depth that
// stay in the first-level cache meanwhile. Each pass asks for its lines of the next slice.
constexpr bool kIsSliced = panel_vectors_for(kPanelRows) * kVectorFloats < kRowPanel;
constexpr int64_t kSliceDepth = 40;  // 10 KB: two of them stay there.

// A slice of the panel's depth.
struct PanelSlice {
  int64_t first;
  int64_t end;
};

// kRows rows of kVectors vectors of columns, of which `columns` are stored.
template <int kRows, int kVectors>
void multiply_panel_columns(const GemmPanel& p, const PanelSlice& slice, int64_t row, int64_t first,
                            int64_t columns) {
  const float* a = p.a + row * p.a_row;
  const float* b = p.panel + slice.first * kRowPanel + first;
  FloatVector sums[kRows][kVectors] = {};
  float* c = p.c + row * p.c_row + first;
  if (slice.first > 0) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int64_t left = columns - v * kVectorFloats;
        if (left > 0) sums[i][v] = load_columns(c + i * p.c_row + v * kVectorFloats, left);
      }
    }
  }
  for (int64_t depth = slice.first; depth < slice.end; ++depth, b += kRowPanel) {
    FloatVector right[kVectors];
    if (kIsSliced) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; v += 2)
        __builtin_prefetch(b + kSliceDepth * kRowPanel + v * kVectorFloats);
    }
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
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = columns - v * kVectorFloats;
      if (left > 0) store_columns(c + i * p.c_row + v * kVectorFloats, left, sums[i][v]);
    }
  }
}

template <int kRows>
void multiply_panel_rows(const GemmPanel& p, const PanelSlice& slice, int64_t row) {
  constexpr int kVectors = panel_vectors_for(kRows);
  for (int64_t first = 0; first < p.n; first += kVectors * kVectorFloats)
    multiply_panel_columns<kRows, kVectors>(p, slice, row, first, p.n - first);
}

// Bands of nearly one height, the higher ones first.
inline void multiply_panel_slice(const GemmPanel& p, const PanelSlice& slice) {
  const int64_t bands = (p.m + kPanelRows - 1) / kPanelRows;
  for (int64_t i = 0, row = 0; i < bands; ++i) {
    const int64_t rows = p.m / bands + (i < p.m % bands ? 1 : 0);
    switch (rows) {
      case 1: multiply_panel_rows<1>(p, slice, row); break;
      case 2: multiply_panel_rows<2>(p, slice, row); break;
      case 3: multiply_panel_rows<3>(p, slice, row); break;
#if defined(__AVX2__)
      case 4: multiply_panel_rows<4>(p, slice, row); break;
      case 5: multiply_panel_rows<5>(p, slice, row); break;
#endif
      default: multiply_panel_rows<kPanelRows>(p, slice, row); break;
    }
    row += rows;
  }
}

inline void run_panel_f32(const GemmPanel& p) {
  const int64_t most = kIsSliced ? kSliceDepth : p.k;
  const int64_t slices =
      p.k == 0 ? 1 : (p.k + most - 1) / most;  // Without depth, zeros are stored.
  for (int64_t i = 0; i < slices; ++i)
    multiply_panel_slice(p, {i * most, std::min((i + 1) * most, p.k)});
}

}  // namespace
}  // namespace tierup::kernels
