// The gates of one row at one step of a recurrent layer, f32; compiled once per instruction set.
#pragma once

#include <cstdint>

namespace tierup::kernels {

// Gates stand one after another, `size` numbers each: i, f, g, o (LSTM), r, z, n (GRU), or one.
struct GateRow {
  int64_t size;
  const float* input;       // The input's share.
  const float* state;       // The state's share.
  const float* bias;        // Added to both; null: none.
  const float* state_bias;  // GRU: added to the state's share; null: none.
  float* hidden;            // LSTM: only written.
  float* cell;              // LSTM.
};
using GateRowFn = void (*)(const GateRow& row);

struct GateKernels {
  GateRowFn lstm, gru, tanh, relu;
};

GateKernels gate_kernels_base();
GateKernels gate_kernels_avx2();
GateKernels gate_kernels_avx512();

}  // namespace tierup::kernels
