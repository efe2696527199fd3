// The gates of one row at one step of a recurrent layer and their gradients, f32; compiled once per
// instruction set.
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

// The way back of one row at one step. The gradient of the hidden state after the step is the sum
// of `output`, `carried` and `passed`, those of them that there are.
struct GateGradientRow {
  int64_t size;
  const float* input;       // The input's share, its biases included.
  float* state;             // The state's share; then its gradient, an LSTM's input's too.
  const float* state_bias;  // GRU; null: none.
  float* input_gradient;    // GRU.
  const float* before;      // An LSTM's cell, a GRU's state, before the step.
  const float* after;       // An LSTM's cell after it.
  const float* output;
  const float* carried;
  float* passed;  // GRU: then what passes by the gates to the state before.
  float* cell;    // LSTM: the gradient of the cell after the step, then of the one before.
};
using GateGradientRowFn = void (*)(const GateGradientRow& row);

struct GateKernels {
  GateRowFn lstm, gru, tanh, relu;
  GateGradientRowFn lstm_back, gru_back;
};

// For the instruction set in use: recurrent_direction.cc.
GateKernels gate_kernels();
GateKernels gate_kernels_base();
GateKernels gate_kernels_avx2();
GateKernels gate_kernels_avx512();

}  // namespace tierup::kernels
