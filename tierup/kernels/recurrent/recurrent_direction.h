// One direction of one recurrent layer over all steps.
#pragma once

#include <cstdint>
#include <vector>

#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/recurrent/recurrent.h"

namespace tierup::kernels {

// [gates, I], [gates, P], [gates], [gates], [P, H]: dense, in the type that is computed in;
// undefined where there is none.
struct LayerWeights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
  bool are_given = false;  // The matrices are the caller's own, not copies made for this call.
};

// The state of one layer and direction, of which a step advances the first rows.
struct LayerState {
  Tensor hidden;       // [B, P]: P is the projected size, H without projection.
  Tensor cell;         // [B, H], LSTM only.
  Tensor unprojected;  // [B, H], only with projection.
};

// c (rows x n) = a (rows x k, dense) times b transposed.
template <typename T>
void multiply_transposed(int64_t rows, const T* a, const Tensor& b, T* c) {
  GemmProblem p;
  p.dtype = kDTypeOf<T>;
  p.m = rows;
  p.n = b.size(0);
  p.k = b.size(1);
  p.a = {a, 0, p.k, 1};
  p.b = {b.raw(), 0, 1, p.k};
  p.c = c;
  p.c_row_stride = p.n;
  gemm(p);
}

// Gates of a layer, each of the state's size.
int64_t gates_of(RecurrentKind kind);

// Advances `state` over the rows [N, I] of all steps, which go in `batch_sizes`, and writes the
// states to the columns of `output` [N, width] from `column` on. `packed`: see RecurrentOptions.
void run_direction(RecurrentKind kind, const LayerWeights& weights, const Tensor& rows,
                   const std::vector<int64_t>& batch_sizes, bool reverse, const LayerState& state,
                   const Tensor& output, int64_t column, RecurrentWeights* packed);

}  // namespace tierup::kernels
