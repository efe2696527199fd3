// The body of gemm_block_*.cc: everything is local to the including file, so that code for one
// instruction set never leaks into another.
//
// B is packed into panels of columns and A into panels of kRows rows, depth by depth; one tile of C
// then lives in registers while a panel pair streams by.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tierup/kernels/gemm/gemm_panel_body.h"
#include "tierup/kernels/gemm/gemm_row_body.h"
#include "tierup/kernels/gemm/gemm_small_body.h"
#include "tierup/kernels/gemm/gemm_thin_body.h"
#include "tierup/kernels/gemm/gemm_tiles_body.h"
#include "tierup/tensor/half.h"

namespace tierup::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 8;
constexpr int kVectors = 3;
#elif defined(__AVX2__)
constexpr int kRows = 4;
constexpr int kVectors = 3;
#else
constexpr int kRows = 4;
constexpr int kVectors = 2;
#endif

inline float widen(float v) { return v; }
inline double widen(double v) { return v; }
inline uint64_t widen(int64_t v) { return static_cast<uint64_t>(v); }
inline uint32_t widen(int32_t v) { return static_cast<uint32_t>(v); }
inline float widen(BFloat16 v) {
  const uint32_t bits = static_cast<uint32_t>(v.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}
inline float widen(Half v) {
#if defined(__F16C__)
  return _cvtsh_ss(v.bits);
#else
  return static_cast<float>(v);
#endif
}

template <typename Acc>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Acc));

// Vectors in the next panel of B where so many columns are left: full ones, but two halves rather
// than a full one and a rest too narrow to keep the multipliers busy.
template <typename Acc>
int panel_vectors(int64_t columns) {
  const int64_t left = (columns + kLanes<Acc> - 1) / kLanes<Acc>;
  if (left == kVectors + 1) return static_cast<int>(left + 1) / 2;
  return static_cast<int>(left < kVectors ? left : kVectors);
}

typedef float FloatQuad __attribute__((vector_size(16)));

inline FloatQuad load_quad(const float* data) {
  FloatQuad result;
  std::memcpy(&result, data, sizeof(result));
  return result;
}

// Four lines that each stand in one piece, four elements of each: packed[p * width + line].
inline void pack_quads(const float* source, int64_t stride, float* packed, int64_t width) {
  const FloatQuad a = load_quad(source);
  const FloatQuad b = load_quad(source + stride);
  const FloatQuad c = load_quad(source + 2 * stride);
  const FloatQuad d = load_quad(source + 3 * stride);
  const FloatQuad low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const FloatQuad high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const FloatQuad low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const FloatQuad high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const FloatQuad first = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
  const FloatQuad second = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
  const FloatQuad third = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
  const FloatQuad fourth = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
  std::memcpy(packed, &first, sizeof(first));
  std::memcpy(packed + width, &second, sizeof(second));
  std::memcpy(packed + 2 * width, &third, sizeof(third));
  std::memcpy(packed + 3 * width, &fourth, sizeof(fourth));
}

// Lines of a matrix, rows of A or columns of B: element p of line i stands at i * line + p * step.
template <typename Storage>
struct Lines {
  const Storage* start;
  int64_t line;
  int64_t step;
};

// A vector of lines that each stand in one piece, square by square.
inline void pack_squares(const double* source, int64_t stride, int64_t depth, int64_t width,
                         double* packed) {
  for (int64_t p = 0; p < depth; p += kVectorDoubles) {
    DoubleVector square[kVectorDoubles];
#pragma GCC unroll 8
    for (int i = 0; i < kVectorDoubles; ++i)
      std::memcpy(&square[i], source + i * stride + p, sizeof(DoubleVector));
    transpose(square);
#pragma GCC unroll 8
    for (int i = 0; i < kVectorDoubles; ++i)
      std::memcpy(packed + (p + i) * width, &square[i], sizeof(DoubleVector));
  }
}

// packed[p * width + i] for `count` lines, which may stand anywhere.
template <typename Storage, typename Acc>
void pack_lines(const Lines<Storage>& lines, int64_t count, int64_t depth, int64_t width,
                Acc* packed) {
  int64_t turned = 0;  // Lines done to the depth `done`.
  int64_t done = 0;
  if constexpr (std::is_same_v<Storage, float> && std::is_same_v<Acc, float>) {
    if (lines.step == 1) {
      done = depth - depth % 4;
      for (; turned + 4 <= count; turned += 4) {
        for (int64_t p = 0; p < done; p += 4) {
          pack_quads(lines.start + turned * lines.line + p, lines.line, packed + p * width + turned,
                     width);
        }
      }
    }
  }
  if constexpr (std::is_same_v<Storage, double> && std::is_same_v<Acc, double>) {
    if (lines.step == 1) {
      done = depth - depth % kVectorDoubles;
      for (; turned + kVectorDoubles <= count; turned += kVectorDoubles)
        pack_squares(lines.start + turned * lines.line, lines.line, done, width, packed + turned);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t p = i < turned ? done : 0; p < depth; ++p) {
      packed[p * width + i] = widen(lines.start[i * lines.line + p * lines.step]);
    }
  }
}

// Panels of kRows rows: panel[p * kRows + i], zero beyond the last row.
template <typename Storage, typename Acc>
void pack_a(const GemmBlock& block, int64_t first, int64_t depth, Acc* packed) {
  const auto* a = static_cast<const Storage*>(block.a) + first * block.a_col;
  for (int64_t row = 0; row < block.m; row += kRows, packed += depth * kRows) {
    const int64_t rows = block.m - row < kRows ? block.m - row : kRows;
    if (rows < kRows) std::memset(packed, 0, sizeof(Acc) * static_cast<size_t>(depth * kRows));
    pack_lines<Storage>({a + row * block.a_row, block.a_row, block.a_col}, rows, depth, kRows,
                        packed);
  }
}

// Columns that stand side by side, as many as the panel is wide.
template <int kCount, typename Acc>
void pack_whole_rows(const Acc* source, int64_t step, int64_t depth, Acc* packed) {
  constexpr int kWidth = kCount * kLanes<Acc>;
  for (int64_t p = 0; p < depth; ++p, source += step, packed += kWidth) {
    std::memcpy(packed, source, kWidth * sizeof(Acc));
  }
}

template <typename Storage, typename Acc>
void pack_side_by_side(const Storage* source, const GemmBlock& block, int64_t cols, int64_t depth,
                       int64_t width, Acc* packed) {
  if constexpr (std::is_same_v<Storage, Acc>) {
    if (cols == width) {
      switch (width / kLanes<Acc>) {
        case 1: return pack_whole_rows<1>(source, block.b_row, depth, packed);
        case 2: return pack_whole_rows<2>(source, block.b_row, depth, packed);
        default: return pack_whole_rows<kVectors>(source, block.b_row, depth, packed);
      }
    }
  }
  for (int64_t p = 0; p < depth; ++p, source += block.b_row, packed += width) {
    for (int64_t j = 0; j < cols; ++j) packed[j] = widen(source[j]);
  }
}

// Panels of columns, each as wide as panel_vectors() says: panel[p * width + j], zero beyond the
// last column.
template <typename Storage, typename Acc>
void pack_b(const GemmBlock& block, int64_t first, int64_t depth, Acc* packed) {
  const auto* b = static_cast<const Storage*>(block.b) + first * block.b_row;
  for (int64_t col = 0; col < block.n;) {
    const int64_t width = panel_vectors<Acc>(block.n - col) * kLanes<Acc>;
    const int64_t cols = block.n - col < width ? block.n - col : width;
    if (cols < width) std::memset(packed, 0, sizeof(Acc) * static_cast<size_t>(depth * width));
    const Storage* source = b + col * block.b_col;
    if (block.b_col == 1) {
      pack_side_by_side(source, block, cols, depth, width, packed);
    } else {
      pack_lines<Storage>({source, block.b_col, block.b_row}, cols, depth, width, packed);
    }
    packed += depth * width;
    col += width;
  }
}

// One tile of kRows rows and kCount vectors of columns; rows and cols say how much of it is wanted.
// Sums go on where C stands if they accumulate: in order of depth, as in gemm_row_body.h.
template <int kCount, typename Acc>
void tile(const Acc* a, const Acc* b, int64_t depth, Acc* out, int64_t ld, int64_t rows,
          int64_t cols, bool accumulate) {
  using Vector = typename VectorOf<Acc>::Type;
  constexpr int kWidth = kCount * kLanes<Acc>;
  const bool whole = rows == kRows && cols == kWidth;
  Acc edge[kRows][kWidth];  // What is there of a tile at the end of C.
  Vector sums[kRows][kCount] = {};
  if (accumulate && whole) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) std::memcpy(sums[i], out + i * ld, sizeof(sums[i]));
  } else if (accumulate) {
    std::memset(edge, 0, sizeof(edge));
    for (int64_t i = 0; i < rows; ++i) std::copy_n(out + i * ld, cols, edge[i]);
    std::memcpy(sums, edge, sizeof(sums));
  }
  for (int64_t p = 0; p < depth; ++p, a += kRows, b += kWidth) {
    Vector column[kCount];
#pragma GCC unroll 8
    for (int v = 0; v < kCount; ++v) {
      std::memcpy(&column[v], b + v * kLanes<Acc>, sizeof(Vector));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vector row = a[i] - Vector{};
#pragma GCC unroll 8
      for (int v = 0; v < kCount; ++v) sums[i][v] = multiply_add(row, column[v], sums[i][v]);
    }
  }
  if (whole) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) std::memcpy(out + i * ld, sums[i], sizeof(sums[i]));
    return;
  }
  std::memcpy(edge, sums, sizeof(edge));
  for (int64_t i = 0; i < rows; ++i) std::copy_n(edge[i], cols, out + i * ld);
}

template <typename Acc>
void tile_of(int vectors, const Acc* a, const Acc* b, int64_t depth, Acc* out, int64_t ld,
             int64_t rows, int64_t cols, bool accumulate) {
  switch (vectors) {
    case 1: return tile<1>(a, b, depth, out, ld, rows, cols, accumulate);
    case 2: return tile<2>(a, b, depth, out, ld, rows, cols, accumulate);
    default: return tile<kVectors>(a, b, depth, out, ld, rows, cols, accumulate);
  }
}

template <typename Storage, typename Acc>
void run_block(const GemmBlock& block) {
  auto* packed_b = static_cast<Acc*>(block.workspace);
  auto* packed_a = packed_b + kGemmBlockDepth * (kGemmBlockCols + 48);
  for (int64_t first = 0; first < block.k; first += kGemmBlockDepth) {
    const int64_t depth = block.k - first < kGemmBlockDepth ? block.k - first : kGemmBlockDepth;
    pack_a<Storage>(block, first, depth, packed_a);
    pack_b<Storage>(block, first, depth, packed_b);
    for (int64_t col = 0; col < block.n;) {
      const int vectors = panel_vectors<Acc>(block.n - col);
      const int64_t width = vectors * kLanes<Acc>;
      const int64_t cols = block.n - col < width ? block.n - col : width;
      for (int64_t row = 0; row < block.m; row += kRows) {
        const int64_t rows = block.m - row < kRows ? block.m - row : kRows;
        tile_of(vectors, packed_a + row * depth, packed_b + col * depth, depth,
                static_cast<Acc*>(block.acc) + row * block.ld + col, block.ld, rows, cols,
                first > 0);
      }
      col += width;
    }
  }
}

constexpr GemmBlockKernels kKernels{&run_block<float, float>,
                                    &run_block<double, double>,
                                    &run_block<Half, float>,
                                    &run_block<BFloat16, float>,
                                    &run_block<int64_t, uint64_t>,
                                    &run_block<int32_t, uint32_t>,
                                    &run_block<int16_t, uint32_t>,
                                    &run_block<int8_t, uint32_t>,
                                    &run_block<uint8_t, uint32_t>,
                                    &run_row_f32,
                                    &run_lines_f32,
                                    &run_small_f32,
                                    &run_panel_f32,
                                    &turn_matrix,
                                    &run_dots_f32,
                                    &run_direct<float>,
                                    &run_direct<double>,
                                    &run_thin<float>,
                                    &run_thin<double>,
                                    &run_thin<uint64_t>,
                                    &run_thin<uint32_t>,
                                    &long_dot<float>,
                                    &long_dot<double>,
                                    &run_tiles_f32,
                                    kTileColumns};

}  // namespace
}  // namespace tierup::kernels
