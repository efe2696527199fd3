// Recurrent layers and cells: LSTM, GRU and plain RNNs, over padded or packed sequences.
//
// Parameters of each layer and direction stand in PyTorch's order: weight_ih, weight_hh, then
// bias_ih and bias_hh if has_biases, then weight_hr if the LSTM projects its state. Gates are i, f,
// g, o (LSTM) and r, z, n (GRU). f16 and bf16 compute in f32.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tierup/kernels/random/generator.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

class RecurrentWeights;  // recurrent_weights.h

enum class RecurrentKind : uint8_t { kLstm, kGru, kTanh, kRelu };

struct RecurrentOptions {
  RecurrentKind kind = RecurrentKind::kLstm;
  bool has_biases = true;
  int64_t num_layers = 1;
  double dropout = 0;  // Between layers; applied if `generator` is not null.
  bool bidirectional = false;
  Generator* generator = nullptr;
  RecurrentWeights* packed = nullptr;  // Keeps matrices packed between calls; null: nothing does.
};

// Output of all steps and the final states; `cell` is undefined but for an LSTM.
struct RecurrentResult {
  Tensor output, hidden, cell;
};

// Input [T, B, I], or [B, T, I] if batch_first; hidden and cell [layers * directions, B, H].
// Throws kInvalidArgument for sizes that do not fit.
RecurrentResult run_recurrent(const Tensor& input, const Tensor& hidden, const Tensor& cell,
                              const std::vector<Tensor>& params, const RecurrentOptions& options,
                              bool batch_first);
// Packed data [sum of batch_sizes, I] with the (never growing) number of sequences at each step.
RecurrentResult run_recurrent_packed(const Tensor& data, const Tensor& batch_sizes,
                                     const Tensor& hidden, const Tensor& cell,
                                     const std::vector<Tensor>& params,
                                     const RecurrentOptions& options);

// One step of a cell on input [B, I] (or [I]): the states. `weights` are w_ih, w_hh, b_ih, b_hh, of
// which biases may be undefined; `packed` as in RecurrentOptions.
std::tuple<Tensor, Tensor> run_recurrent_cell(RecurrentKind kind, const Tensor& input,
                                              const Tensor& hidden, const Tensor& cell,
                                              const std::array<Tensor, 4>& weights,
                                              RecurrentWeights* packed);
// aten::lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell: one step on input [B, I] (or [I]).
std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx,
                                     const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                                     const Tensor& b_hh);
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh);
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh);
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh);

// aten::_pack_padded_sequence: lengths are int64, positive and never growing. Returns data and
// batch sizes.
std::tuple<Tensor, Tensor> pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                bool batch_first);
// Its gradient, with zeros where the sequences have ended.
Tensor pack_padded_sequence_backward(const Tensor& grad, const IntVector& input_size,
                                     const Tensor& batch_sizes, bool batch_first);
// aten::_pad_packed_sequence: the reverse, to total_length steps if that is positive. Returns
// lengths, too.
std::tuple<Tensor, Tensor> pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                               bool batch_first, const Scalar& padding_value,
                                               int64_t total_length);

}  // namespace tierup::kernels
