// The register-tiled matrix kernel, compiled once per instruction set.
//
// Each of gemm_block_{base,avx2,avx512}.cc includes gemm_block_body.h and exports its table of
// kernels; gemm.cc picks one table at run time.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// acc (m x n, row stride ld) = A (m x k) * B (k x n), in the accumulator's type. m is at most
// kGemmBlockRows; n is at most kGemmBlockCols, or so much more as k is less than kGemmBlockDepth.
struct GemmBlock {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* acc;
  int64_t ld;
  void* workspace;  // kGemmWorkspaceBytes, 64-byte aligned.
};
using GemmBlockFn = void (*)(const GemmBlock& block);

// out (n) = x (k, dense) * B (k x n, one of its strides 1) + bias: reads B once, where it stands.
struct GemmRow {
  int64_t n, k;
  const float* x;
  const float* b;
  int64_t b_row, b_col;
  const float* bias;  // Of n elements, or null.
  float* out;
};
// out (m x n) = x (m x k, rows dense) * B (k x n, each column in one piece) + bias: reads B once
// for a few rows, where it stands.
struct GemmLines {
  int64_t m, n, k;
  const float* x;
  int64_t x_row;
  const float* b;
  int64_t b_col;
  const float* bias;  // Of n elements, or null.
  float* out;
  int64_t out_row;
};
using GemmLinesFn = void (*)(const GemmLines& lines);

// Columns of a panel of B that is packed for rows; of so few, B is read as it lies.
inline constexpr int64_t kRowPanel = 64;
using GemmRowFn = void (*)(const GemmRow& row);

// c (m x n) = a (m x k) * b (k x n) for `count` matrices; c's columns lie side by side.
template <typename T>
struct GemmMatrices {
  int64_t count, m, n, k;
  const T* a;
  int64_t a_batch, a_row, a_col;
  const T* b;
  int64_t b_batch, b_row, b_col;
  T* c;
  int64_t c_batch, c_row;
};
// Any strides: for products that are so thin or small that copying a matrix costs more than they.
// Integers modulo their size, whatever their sign.
template <typename T>
using GemmThinFn = void (*)(const GemmMatrices<T>& matrices);

// Of small_f32, each of at most so many elements of b, one of whose strides is 1.
inline constexpr int64_t kMaxSmallMatrix = 1024;

// c (m x n) = a (m x k, rows dense) * a panel of at most kRowPanel columns, [k][kRowPanel].
struct GemmPanel {
  int64_t m, n, k;
  const float* a;
  int64_t a_row;
  const float* panel;
  float* c;
  int64_t c_row;
};
using GemmPanelFn = void (*)(const GemmPanel& panel);

// c (m x n) = a (m x k) * b (k x n) + bias, any strides but c's columns side by side: by tiles,
// each of a few rows and tile_columns columns.
struct GemmTiles {
  int64_t m, n, k;
  const float* a;
  int64_t a_row, a_col;
  const float* b;
  int64_t b_row, b_col;
  float* c;
  int64_t c_row;
  const float* bias;  // Of n elements, or null; none where it goes on.
  bool goes_on;       // Begins with what stands in c, rather than zeros.
  int64_t depth;      // Of the slices that b is packed in.
  int64_t rows;       // Of a that meet one slice after the other.
  float* workspace;   // depth * (n as whole tiles + rows), 64-byte aligned.
};
using GemmTilesFn = void (*)(const GemmTiles& tiles);

// turned (k x n, dense): column j of it lies in one piece at b + j * b_col.
struct GemmTurn {
  int64_t n, k;
  const float* b;
  int64_t b_col;
  float* turned;
};
using GemmTurnFn = void (*)(const GemmTurn& turn);

// out[i] = the sum of x[i][p] * y[i][p] for `count` pairs of lines of k numbers, which lie in one
// piece each.
struct GemmDots {
  int64_t count, k;
  const float* x;
  int64_t x_line;
  const float* y;
  int64_t y_line;
  float* out;
};
using GemmDotsFn = void (*)(const GemmDots& dots);

// The sum of x[i] * y[i], in several sums at a time: for long vectors.
template <typename T>
using LongDotFn = T (*)(int64_t n, const T* x, const T* y);

inline constexpr int64_t kGemmBlockRows = 96;
inline constexpr int64_t kGemmBlockCols = 192;
inline constexpr int64_t kGemmBlockDepth = 256;
// Packed A and packed B of one block, at eight bytes an element, with room for padded panels.
inline constexpr int64_t kGemmWorkspaceBytes =
    8 * kGemmBlockDepth * (kGemmBlockRows + kGemmBlockCols + 64);

// Accumulators of integers are unsigned: they wrap around.
struct GemmBlockKernels {
  GemmBlockFn f32;
  GemmBlockFn f64;
  GemmBlockFn f16;   // f32 accumulator
  GemmBlockFn bf16;  // f32 accumulator
  GemmBlockFn i64;
  GemmBlockFn i32;  // 32 bits, as the narrower ones
  GemmBlockFn i16;
  GemmBlockFn i8;
  GemmBlockFn u8;
  GemmRowFn row_f32;
  GemmLinesFn lines_f32;
  GemmThinFn<float> small_f32;
  GemmPanelFn panel_f32;
  GemmTurnFn turn_f32;
  GemmDotsFn dots_f32;
  GemmThinFn<float> direct_f32;  // Rows of b lie in one piece.
  GemmThinFn<double> direct_f64;
  GemmThinFn<float> thin_f32;
  GemmThinFn<double> thin_f64;
  GemmThinFn<uint64_t> thin_i64;
  GemmThinFn<uint32_t> thin_i32;
  LongDotFn<float> long_dot_f32;
  LongDotFn<double> long_dot_f64;
  GemmTilesFn tiles_f32;
  int64_t tile_columns;
};

// Those of instruction_set().
const GemmBlockKernels& gemm_block_kernels();

const GemmBlockKernels& gemm_block_base();
const GemmBlockKernels& gemm_block_avx2();
const GemmBlockKernels& gemm_block_avx512();

}  // namespace tierup::kernels
