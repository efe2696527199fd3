// Many small matrices after one another, for gemm_block_*.cc; see gemm_block_body.h.
//
// Rows of sums stand in registers while the depth streams by; nothing is packed, which would cost
// more than such a product (8 by 8: 45 ns; by packed tiles 600, in a batch of a library 130). Sums
// are in the order of the depth, as everywhere (gemm_row_body.h, decision 0019).
#pragma once

#include "tierup/kernels/gemm/gemm_block.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

template <typename T>
constexpr int64_t kLanesOf = kVectorBytes / static_cast<int64_t>(sizeof(T));

// kCount rows of kVectors vectors of columns: the sums of one step of the depth are independent, so
// that enough of them hide the latency of an addition.
template <int kCount, int kVectors, typename T>
void multiply_rows(const GemmMatrices<T>& p, const T* a, const T* b, int64_t b_row, T* c) {
  using Vector = typename VectorOf<T>::Type;
  Vector sums[kCount][kVectors] = {};
  for (int64_t depth = 0; depth < p.k; ++depth) {
    Vector right[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      std::memcpy(&right[v], b + depth * b_row + v * kLanesOf<T>, sizeof(Vector));
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const Vector left = a[i * p.a_row + depth * p.a_col] - Vector{};
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add(left, right[v], sums[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      std::memcpy(c + i * p.c_row + v * kLanesOf<T>, &sums[i][v], sizeof(Vector));
  }
}

// The same of a part of one vector.
template <int kCount, typename T>
void multiply_last(const GemmMatrices<T>& p, const T* a, const T* b, int64_t b_row, T* c,
                   int64_t columns) {
  using Vector = typename VectorOf<T>::Type;
  Vector sums[kCount] = {};
  for (int64_t depth = 0; depth < p.k; ++depth) {
    const Vector right = load_part(b + depth * b_row, columns);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const Vector left = a[i * p.a_row + depth * p.a_col] - Vector{};
      sums[i] = multiply_add(left, right, sums[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) store_part(c + i * p.c_row, columns, sums[i]);
}

// kCount rows of all columns, kVectors vectors of them at a time while there are so many.
template <int kCount, int kVectors, typename T>
void multiply_band(const GemmMatrices<T>& p, const T* a, const T* b, int64_t b_row, T* c) {
  constexpr int64_t kWide = kVectors * kLanesOf<T>;
  int64_t j = 0;
  for (; j + kWide <= p.n; j += kWide) multiply_rows<kCount, kVectors>(p, a, b + j, b_row, c + j);
  for (; j + kLanesOf<T> <= p.n; j += kLanesOf<T>)
    multiply_rows<kCount, 1>(p, a, b + j, b_row, c + j);
  if (j < p.n) multiply_last<kCount>(p, a, b + j, b_row, c + j, p.n - j);
}

// Vectors of a single row: no wider than the panels that are made for rows (kRowPanel).
constexpr int kRowVectors = kVectorFloats < 16 ? 8 : 4;
// Vectors of eight rows: as many sums as the registers hold.
#if defined(__AVX512F__)
constexpr int kBandVectors = 3;
#else
constexpr int kBandVectors = 1;
#endif

// At least about eight sums at a time, whatever the number of rows.
template <typename T>
void multiply_bands(const GemmMatrices<T>& p, const T* a, const T* b, int64_t b_row, T* c) {
  int64_t i = 0;
  const auto band = [&](auto run, int64_t rows) {
    run(p, a + i * p.a_row, b, b_row, c + i * p.c_row);
    i += rows;
  };
  while (i + 8 <= p.m) band(multiply_band<8, kBandVectors, T>, 8);
  if (i + 4 <= p.m) band(multiply_band<4, 2, T>, 4);
  if (i + 2 <= p.m) band(multiply_band<2, 4, T>, 2);
  if (i < p.m) band(multiply_band<1, kRowVectors, T>, 1);
}

// Columns that each lie in one piece become rows of `turned`, square by square.
inline void turn_matrix(const GemmTurn& p) {
  FloatVector square[kVectorFloats];
  for (int64_t j = 0; j < p.n; j += kVectorFloats) {
    const int64_t columns = p.n - j < kVectorFloats ? p.n - j : kVectorFloats;
    for (int64_t i = 0; i < p.k; i += kVectorFloats) {
      const int64_t rows = p.k - i < kVectorFloats ? p.k - i : kVectorFloats;
#pragma GCC unroll 16
      for (int c = 0; c < kVectorFloats; ++c) {
        square[c] = load_part(p.b + (j + (c < columns ? c : 0)) * p.b_col + i, rows);
      }
      transpose(square);
      for (int64_t r = 0; r < rows; ++r)
        store_part(p.turned + (i + r) * p.n + j, columns, square[r]);
    }
  }
}

inline void run_small_f32(const GemmMatrices<float>& p) {
  alignas(64) float turned[kMaxSmallMatrix];
  for (int64_t batch = 0; batch < p.count; ++batch) {
    const float* a = p.a + batch * p.a_batch;
    const float* b = p.b + batch * p.b_batch;
    float* c = p.c + batch * p.c_batch;
    int64_t b_row = p.b_row;
    if (p.b_col != 1) {
      turn_matrix({p.n, p.k, b, p.b_col, turned});
      b = turned;
      b_row = p.n;
    }
    multiply_bands(p, a, b, b_row, c);
  }
}

// Rows of b lie in one piece.
template <typename T>
void run_direct(const GemmMatrices<T>& p) {
  for (int64_t batch = 0; batch < p.count; ++batch) {
    multiply_bands(p, p.a + batch * p.a_batch, p.b + batch * p.b_batch, p.b_row,
                   p.c + batch * p.c_batch);
  }
}

}  // namespace
}  // namespace tierup::kernels
