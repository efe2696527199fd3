// The body of gemm_block_*.cc: everything is local to the including file, so that code for one
// instruction set never leaks into another.
//
// B is packed into panels of kCols columns and A into panels of kRows rows, depth by depth; one
// tile of C then lives in registers while a panel pair streams by.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstring>
#include <type_traits>

#include "tierup/kernels/gemm_block.h"
#include "tierup/tensor/half.h"

namespace tierup::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 8;
constexpr int kVectors = 3;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 4;
constexpr int kVectors = 3;
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 4;
constexpr int kVectors = 2;
#endif

typedef float FloatVector __attribute__((vector_size(kVectorBytes)));
typedef double DoubleVector __attribute__((vector_size(kVectorBytes)));
template <typename Acc>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = FloatVector;
};
template <>
struct VectorOf<double> {
  using Type = DoubleVector;
};

#if defined(__AVX512F__)
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__AVX2__)
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
  return _mm256_fmadd_pd(a, b, c);
}
#else
template <typename Vector>
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  return a * b + c;
}
#endif

template <typename Acc>
constexpr int kCols = kVectors* kVectorBytes / static_cast<int>(sizeof(Acc));

inline float widen(float v) { return v; }
inline double widen(double v) { return v; }
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

// Panels of kRows rows: panel[p * kRows + i], zero beyond the last row.
template <typename Storage, typename Acc>
void pack_a(const GemmBlock& block, int64_t first, int64_t depth, Acc* packed) {
  const auto* a = static_cast<const Storage*>(block.a) + first * block.a_col;
  for (int64_t row = 0; row < block.m; row += kRows, packed += depth * kRows) {
    const int64_t rows = block.m - row < kRows ? block.m - row : kRows;
    const Storage* source = a + row * block.a_row;
    if (rows < kRows) std::memset(packed, 0, sizeof(Acc) * static_cast<size_t>(depth * kRows));
    if (rows == kRows) {
      for (int64_t p = 0; p < depth; ++p) {
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
          packed[p * kRows + i] = widen(source[i * block.a_row + p * block.a_col]);
        }
      }
      continue;
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t p = 0; p < depth; ++p) {
        packed[p * kRows + i] = widen(source[i * block.a_row + p * block.a_col]);
      }
    }
  }
}

// Panels of kCols columns: panel[p * kCols + j], zero beyond the last column.
template <typename Storage, typename Acc>
void pack_b(const GemmBlock& block, int64_t first, int64_t depth, Acc* packed) {
  const auto* b = static_cast<const Storage*>(block.b) + first * block.b_row;
  for (int64_t col = 0; col < block.n; col += kCols<Acc>, packed += depth * kCols<Acc>) {
    const int64_t cols = block.n - col < kCols<Acc> ? block.n - col : kCols<Acc>;
    const Storage* source = b + col * block.b_col;
    if (cols < kCols<Acc>)
      std::memset(packed, 0, sizeof(Acc) * static_cast<size_t>(depth * kCols<Acc>));
    if (std::is_same_v<Storage, Acc> && block.b_col == 1 && cols == kCols<Acc>) {
      for (int64_t p = 0; p < depth; ++p) {
        std::memcpy(packed + p * kCols<Acc>, source + p * block.b_row, sizeof(Acc) * kCols<Acc>);
      }
    } else if (block.b_col == 1) {
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t j = 0; j < cols; ++j)
          packed[p * kCols<Acc> + j] = widen(source[p * block.b_row + j]);
      }
    } else {
      for (int64_t j = 0; j < cols; ++j) {
        for (int64_t p = 0; p < depth; ++p)
          packed[p * kCols<Acc> + j] = widen(source[p * block.b_row + j * block.b_col]);
      }
    }
  }
}

// One tile of kRows x kCols; rows and cols say how much of it is wanted.
template <typename Acc>
void tile(const Acc* a, const Acc* b, int64_t depth, Acc* out, int64_t ld, int64_t rows,
          int64_t cols, bool accumulate) {
  using Vector = typename VectorOf<Acc>::Type;
  constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Acc));
  Vector sums[kRows][kVectors] = {};
  for (int64_t p = 0; p < depth; ++p, a += kRows, b += kCols<Acc>) {
    Vector column[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) std::memcpy(&column[v], b + v * kLanes, sizeof(Vector));
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Vector row = a[i] - Vector{};
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add(row, column[v], sums[i][v]);
    }
  }
  Acc flat[kRows][kCols<Acc>];
  std::memcpy(flat, sums, sizeof(flat));
  for (int64_t i = 0; i < rows; ++i) {
    Acc* target = out + i * ld;
    if (accumulate) {
      for (int64_t j = 0; j < cols; ++j) target[j] += flat[i][j];
    } else {
      std::memcpy(target, flat[i], sizeof(Acc) * static_cast<size_t>(cols));
    }
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
    for (int64_t col = 0; col < block.n; col += kCols<Acc>) {
      for (int64_t row = 0; row < block.m; row += kRows) {
        const int64_t rows = block.m - row < kRows ? block.m - row : kRows;
        const int64_t cols = block.n - col < kCols<Acc> ? block.n - col : kCols<Acc>;
        tile(packed_a + row * depth, packed_b + col * depth, depth,
             static_cast<Acc*>(block.acc) + row * block.ld + col, block.ld, rows, cols, first > 0);
      }
    }
  }
}

constexpr int kFloatLanes = kVectorBytes / static_cast<int>(sizeof(float));

inline FloatVector load_floats(const float* data) {
  FloatVector result;
  std::memcpy(&result, data, sizeof(result));
  return result;
}

inline float sum_of(FloatVector vector) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(vector);
#elif defined(__AVX2__)
  const __m128 quarter =
      _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps(vector, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
#else
  float sum = 0;
  for (int i = 0; i < kFloatLanes; ++i) sum += vector[i];
  return sum;
#endif
}

// kCount columns that each stand in one piece. The order of a column's sum does not depend on
// kCount.
template <int kCount>
void dot_columns(const GemmRow& row, int64_t first) {
  const float* b = row.b + first * row.b_col;
  FloatVector sums[kCount][2] = {};
  int64_t p = 0;
  for (; p + 2 * kFloatLanes <= row.k; p += 2 * kFloatLanes) {
    const FloatVector x0 = load_floats(row.x + p);
    const FloatVector x1 = load_floats(row.x + p + kFloatLanes);
#pragma GCC unroll 4
    for (int c = 0; c < kCount; ++c) {
      const float* column = b + c * row.b_col + p;
      sums[c][0] = multiply_add(x0, load_floats(column), sums[c][0]);
      sums[c][1] = multiply_add(x1, load_floats(column + kFloatLanes), sums[c][1]);
    }
  }
  for (int c = 0; c < kCount; ++c) {
    float sum = sum_of(sums[c][0] + sums[c][1]);
    for (int64_t i = p; i < row.k; ++i) sum += row.x[i] * b[c * row.b_col + i];
    row.out[first + c] = row.bias != nullptr ? sum + row.bias[first + c] : sum;
  }
}

// kCount vectors of columns that stand side by side.
template <int kCount>
void scale_rows(const GemmRow& row, int64_t first) {
  FloatVector sums[kCount] = {};
  for (int64_t p = 0; p < row.k; ++p) {
    const FloatVector x = row.x[p] - FloatVector{};
    const float* source = row.b + p * row.b_row + first;
#pragma GCC unroll 4
    for (int c = 0; c < kCount; ++c) {
      sums[c] = multiply_add(x, load_floats(source + c * kFloatLanes), sums[c]);
    }
  }
  for (int c = 0; c < kCount; ++c) {
    if (row.bias != nullptr) sums[c] += load_floats(row.bias + first + c * kFloatLanes);
    std::memcpy(row.out + first + c * kFloatLanes, &sums[c], sizeof(sums[c]));
  }
}

void run_row_f32(const GemmRow& row) {
  int64_t j = 0;
  if (row.b_col != 1) {
    for (; j + 4 <= row.n; j += 4) dot_columns<4>(row, j);
    for (; j < row.n; ++j) dot_columns<1>(row, j);
    return;
  }
  for (; j + 4 * kFloatLanes <= row.n; j += 4 * kFloatLanes) scale_rows<4>(row, j);
  for (; j + kFloatLanes <= row.n; j += kFloatLanes) scale_rows<1>(row, j);
  for (; j < row.n; ++j) {
    float sum = 0;
    for (int64_t p = 0; p < row.k; ++p) sum += row.x[p] * row.b[p * row.b_row + j];
    row.out[j] = row.bias != nullptr ? sum + row.bias[j] : sum;
  }
}

constexpr GemmBlockKernels kKernels{&run_block<float, float>, &run_block<double, double>,
                                    &run_block<Half, float>, &run_block<BFloat16, float>,
                                    &run_row_f32};

}  // namespace
}  // namespace tierup::kernels
