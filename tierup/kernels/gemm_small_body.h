// Many small matrices after one another, for gemm_block_*.cc; see gemm_block_body.h.
//
// Rows of sums stand in registers while the depth streams by; nothing is packed, which would cost
// more than such a product (8 by 8: 45 ns; by packed tiles 600, in a batch of a library 130). Sums
// are in the order of the depth, as everywhere (gemm_row_body.h, decision 0019).
#pragma once

#include "tierup/kernels/gemm_block.h"
#include "tierup/kernels/vectors_body.h"

namespace tierup::kernels {
namespace {

// kCount rows of one vector of columns, or of a part of one.
template <int kCount, bool kWhole>
void multiply_rows(const GemmSmall& p, const float* a, const float* b, int64_t b_row, float* c,
                   int64_t columns) {
  FloatVector sums[kCount] = {};
  for (int64_t depth = 0; depth < p.k; ++depth) {
    const float* source = b + depth * b_row;
    const FloatVector right = kWhole ? load_vector(source) : load_part(source, columns);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const FloatVector left = a[i * p.a_row + depth * p.a_col] - FloatVector{};
      sums[i] = multiply_add(left, right, sums[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    kWhole ? store_vector(c + i * p.c_row, sums[i]) : store_part(c + i * p.c_row, columns, sums[i]);
  }
}

template <bool kWhole>
void multiply_columns(const GemmSmall& p, const float* a, const float* b, int64_t b_row, float* c,
                      int64_t columns) {
  int64_t i = 0;
  for (; i + 8 <= p.m; i += 8)
    multiply_rows<8, kWhole>(p, a + i * p.a_row, b, b_row, c + i * p.c_row, columns);
  for (; i + 4 <= p.m; i += 4)
    multiply_rows<4, kWhole>(p, a + i * p.a_row, b, b_row, c + i * p.c_row, columns);
  for (; i < p.m; ++i)
    multiply_rows<1, kWhole>(p, a + i * p.a_row, b, b_row, c + i * p.c_row, columns);
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

inline void run_small_f32(const GemmSmall& p) {
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
    int64_t j = 0;
    for (; j + kVectorFloats <= p.n; j += kVectorFloats)
      multiply_columns<true>(p, a, b + j, b_row, c + j, kVectorFloats);
    if (j < p.n) multiply_columns<false>(p, a, b + j, b_row, c + j, p.n - j);
  }
}

}  // namespace
}  // namespace tierup::kernels
