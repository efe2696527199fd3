// The steps of one direction of an LSTM or GRU layer as training takes them: from the input's share
// of all gates, and back through time.
//
// A step keeps its states alone. The way back makes the states' share of all gates again by one
// product over all steps, works the activations out once more, and leaves the gradients of weights
// to products over all steps too (ops/derivatives/recurrent_steps.cc). Everything is f32:
// gates [T, B, G * H] in PyTorch's order (recurrent.h), states [B, H], w_hh [G * H, H]. `reverse`
// goes from the last step to the first. Sizes that do not fit throw kInvalidArgument.
#pragma once

#include <tuple>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

// Outputs and cells [T, B, H] of all steps, hidden state and cell after the last one. `gates`
// includes all biases.
std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_steps(const Tensor& gates, const Tensor& hidden,
                                                      const Tensor& cell, const Tensor& w_hh,
                                                      bool reverse);
// Gradients of gates, hidden and cell by those of the outputs, the cells and the last states; each
// of the four may be undefined.
std::tuple<Tensor, Tensor, Tensor> lstm_steps_backward(
    const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& grad_hidden,
    const Tensor& grad_cell, const Tensor& gates, const Tensor& hidden, const Tensor& cell,
    const Tensor& w_hh, const Tensor& outputs, const Tensor& cells, bool reverse);

// Outputs [T, B, H] and the state after the last step. `gates` includes the input's bias; b_hh [3
// H] may be undefined.
std::tuple<Tensor, Tensor> gru_steps(const Tensor& gates, const Tensor& hidden, const Tensor& w_hh,
                                     const Tensor& b_hh, bool reverse);
// Gradients of gates, of the states' share of them [T, B, 3 H], and of hidden.
std::tuple<Tensor, Tensor, Tensor> gru_steps_backward(const Tensor& grad_outputs,
                                                      const Tensor& grad_hidden,
                                                      const Tensor& gates, const Tensor& hidden,
                                                      const Tensor& w_hh, const Tensor& b_hh,
                                                      const Tensor& outputs, bool reverse);

}  // namespace tierup::kernels
