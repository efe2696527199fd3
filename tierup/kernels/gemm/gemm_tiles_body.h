// Matrices of floats beyond a few rows, for gemm_block_*.cc; see gemm_block_body.h.
//
// Goto and van de Geijn's scheme ("Anatomy of high-performance matrix multiplication", 2008), but
// for A, of which a tile reads single numbers: rows that lie in one piece stay where they are. A
// slice of B's depth is packed into panels that are as wide as a tile; for rows of A that stay in
// the second-level cache, panel by panel, tiles of C are summed in registers. Sums are in the order
// of the depth, as everywhere (gemm_row_body.h, decision 0019).
#pragma once

#include <algorithm>

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// A tile's sums, a row of B and a number of A fill the registers: of 32, or of 16.
#if defined(__AVX512F__)
constexpr int kTileRows = 8;
constexpr int kTileVectors = 3;
#elif defined(__AVX2__)
constexpr int kTileRows = 6;
constexpr int kTileVectors = 2;
#else
constexpr int kTileRows = 4;
constexpr int kTileVectors = 2;
#endif
constexpr int64_t kTileColumns = kTileVectors * kVectorFloats;

// Where a tile begins to sum, and what it does with its sums.
struct TileEnds {
  bool goes_on;       // Begins with what stands in C.
  const float* bias;  // Added in the end, or null.
};

// kRows rows of A times the first kVectors vectors of a panel; of its columns so many are stored.
template <int kRows, int kVectors>
void multiply_tile(const float* a, int64_t a_row, const float* panel, int64_t depth, float* c,
                   int64_t c_row, int64_t columns, const TileEnds& ends) {
  FloatVector sums[kRows][kVectors] = {};
  if (ends.goes_on) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const int64_t left = columns - v * kVectorFloats;
        if (left > 0) sums[i][v] = load_columns(c + i * c_row + v * kVectorFloats, left);
      }
    }
  }
  for (int64_t p = 0; p < depth; ++p, panel += kTileColumns) {
    FloatVector right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) right[v] = load_vector(panel + v * kVectorFloats);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const FloatVector left = a[i * a_row + p] - FloatVector{};
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add(left, right[v], sums[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = columns - v * kVectorFloats;
    if (left <= 0) break;
    const FloatVector bias =
        ends.bias == nullptr ? FloatVector{} : load_columns(ends.bias + v * kVectorFloats, left);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const FloatVector sum = ends.bias == nullptr ? sums[i][v] : sums[i][v] + bias;
      store_columns(c + i * c_row + v * kVectorFloats, left, sum);
    }
  }
}

// So much depth of a panel's columns, side by side in `packed`; zeros behind the last one.
inline void pack_panel(const GemmTiles& p, const float* from, int64_t columns, int64_t depth,
                       float* packed) {
  if (p.b_col == 1) {
    for (int64_t i = 0; i < depth; ++i, from += p.b_row, packed += kTileColumns) {
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) {
        const int64_t left = columns - v * kVectorFloats;
        store_vector(packed + v * kVectorFloats,
                     left > 0 ? load_columns(from + v * kVectorFloats, left) : FloatVector{});
      }
    }
    return;
  }
  if (p.b_row != 1) {
    for (int64_t i = 0; i < depth; ++i, from += p.b_row, packed += kTileColumns) {
      for (int64_t j = 0; j < kTileColumns; ++j) packed[j] = j < columns ? from[j * p.b_col] : 0.0F;
    }
    return;
  }
  for (int v = 0; v < kTileVectors; ++v) {
    const int64_t first = v * kVectorFloats;
    for (int64_t i = 0; i < depth; i += kVectorFloats) {
      const int64_t numbers = std::min<int64_t>(depth - i, kVectorFloats);
      FloatVector square[kVectorFloats];
#pragma GCC unroll 16
      for (int c = 0; c < kVectorFloats; ++c) {
        const bool is_there = first + c < columns;
        square[c] =
            is_there ? load_columns(from + (first + c) * p.b_col + i, numbers) : FloatVector{};
      }
      transpose(square);
      float* to = packed + i * kTileColumns + first;
      if (numbers == kVectorFloats) {
#pragma GCC unroll 16
        for (int r = 0; r < kVectorFloats; ++r) store_vector(to + r * kTileColumns, square[r]);
      } else {
        for (int64_t r = 0; r < numbers; ++r) store_vector(to + r * kTileColumns, square[r]);
      }
    }
  }
}

// Rows of A, which lie `a_row` apart in one piece, times all panels of a slice.
struct TileRows {
  int64_t m;
  const float* a;
  int64_t a_row;
  float* c;
  int64_t c_row;
};

// Bands of nearly one height, the higher ones first.
template <int kVectors>
void multiply_bands_of_tiles(const TileRows& rows, const float* panel, int64_t depth,
                             int64_t columns, const TileEnds& ends) {
  const int64_t bands = (rows.m + kTileRows - 1) / kTileRows;
  for (int64_t i = 0, row = 0; i < bands; ++i) {
    const int64_t height = rows.m / bands + (i < rows.m % bands ? 1 : 0);
    const auto run = [&](auto multiply) {
      multiply(rows.a + row * rows.a_row, rows.a_row, panel, depth, rows.c + row * rows.c_row,
               rows.c_row, columns, ends);
    };
    switch (height) {
      case 1: run(multiply_tile<1, kVectors>); break;
      case 2: run(multiply_tile<2, kVectors>); break;
      case 3: run(multiply_tile<3, kVectors>); break;
#if defined(__AVX2__)
      case 4: run(multiply_tile<4, kVectors>); break;
      case 5: run(multiply_tile<5, kVectors>); break;
#endif
#if defined(__AVX512F__)
      case 6: run(multiply_tile<6, kVectors>); break;
      case 7: run(multiply_tile<7, kVectors>); break;
#endif
      default: run(multiply_tile<kTileRows, kVectors>); break;
    }
    row += height;
  }
}

inline void multiply_tile_rows(const TileRows& all, int64_t n, const float* panels, int64_t depth,
                               TileEnds ends) {
  TileRows rows = all;
  for (int64_t column = 0; column < n; column += kTileColumns) {
    const int64_t columns = n - column;
    if (columns > kVectorFloats)
      multiply_bands_of_tiles<kTileVectors>(rows, panels, depth, columns, ends);
    else
      multiply_bands_of_tiles<1>(rows, panels, depth, columns, ends);
    panels += depth * kTileColumns;
    rows.c += kTileColumns;
    if (ends.bias != nullptr) ends.bias += kTileColumns;
  }
}

inline void run_tiles_f32(const GemmTiles& p) {
  float* panels = p.workspace;
  const int64_t tiles = (p.n + kTileColumns - 1) / kTileColumns;
  float* turned = panels + tiles * kTileColumns * std::min(p.depth, p.k);
  for (int64_t first = 0; first < p.k; first += p.depth) {
    const int64_t depth = std::min(p.depth, p.k - first);
    for (int64_t j = 0; j < tiles; ++j) {
      const int64_t column = j * kTileColumns;
      pack_panel(p, p.b + first * p.b_row + column * p.b_col, p.n - column, depth,
                 panels + j * depth * kTileColumns);
    }
    const TileEnds ends{first > 0 || p.goes_on, first + depth == p.k ? p.bias : nullptr};
    for (int64_t row = 0; row < p.m; row += p.rows) {
      TileRows rows{std::min(p.rows, p.m - row), p.a + row * p.a_row + first * p.a_col, p.a_row,
                    p.c + row * p.c_row, p.c_row};
      if (p.a_col != 1) {
        for (int64_t i = 0; i < depth; ++i) {
          for (int64_t r = 0; r < rows.m; ++r)
            turned[r * depth + i] = rows.a[r * p.a_row + i * p.a_col];
        }
        rows.a = turned;
        rows.a_row = depth;
      }
      multiply_tile_rows(rows, p.n, panels, depth, ends);
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
