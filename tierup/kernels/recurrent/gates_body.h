// The body of gates_*.cc; see gates.h. Everything is local to the including file.
#pragma once

#include "tierup/kernels/recurrent/gates.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels {
namespace {

inline Lanes sigmoid_lanes(const Lanes& x) {
  return broadcast(1) / (broadcast(1) + exp_lanes(broadcast(0) - x));
}

// Sixteen numbers from `first` on, or what is left of the row.
struct Piece {
  int64_t first, count;

  Lanes load_at(const float* from) const {
    return count == kLanes ? load(from + first) : load_some(from + first, count, 0);
  }
  void store_at(float* to, const Lanes& lanes) const {
    if (count == kLanes) {
      store(to + first, lanes);
    } else {
      store_some(to + first, lanes, count);
    }
  }
};

template <typename Body>
inline void for_pieces_of(int64_t size, const Body& body) {
  for (int64_t i = 0; i < size; i += kLanes)
    body(Piece{i, size - i < kLanes ? size - i : int64_t{kLanes}});
}

// Both shares of a gate, and their bias.
inline Lanes gate(const GateRow& row, const Piece& piece, int64_t index) {
  const int64_t at = index * row.size;
  const Lanes sum = piece.load_at(row.input + at) + piece.load_at(row.state + at);
  return row.bias == nullptr ? sum : sum + piece.load_at(row.bias + at);
}

void lstm_row(const GateRow& row) {
  for_pieces_of(row.size, [&](const Piece& piece) {
    const Lanes enters = sigmoid_lanes(gate(row, piece, 0)) * tanh_lanes(gate(row, piece, 2));
    const Lanes stays = sigmoid_lanes(gate(row, piece, 1)) * piece.load_at(row.cell);
    const Lanes cell = stays + enters;
    piece.store_at(row.cell, cell);
    piece.store_at(row.hidden, sigmoid_lanes(gate(row, piece, 3)) * tanh_lanes(cell));
  });
}

void gru_row(const GateRow& row) {
  for_pieces_of(row.size, [&](const Piece& piece) {
    const auto share = [&](int64_t index, const float* from, const float* bias) {
      const Lanes x = piece.load_at(from + index * row.size);
      return bias == nullptr ? x : x + piece.load_at(bias + index * row.size);
    };
    const auto both = [&](int64_t index) {
      return share(index, row.input, row.bias) + share(index, row.state, row.state_bias);
    };
    const Lanes reset = sigmoid_lanes(both(0));
    const Lanes update = sigmoid_lanes(both(1));
    const Lanes fresh =
        tanh_lanes(share(2, row.input, row.bias) + reset * share(2, row.state, row.state_bias));
    piece.store_at(row.hidden, (piece.load_at(row.hidden) - fresh) * update + fresh);
  });
}

void tanh_row(const GateRow& row) {
  for_pieces_of(row.size, [&](const Piece& piece) {
    piece.store_at(row.hidden, tanh_lanes(gate(row, piece, 0)));
  });
}

void relu_row(const GateRow& row) {
  for_pieces_of(row.size, [&](const Piece& piece) {
    piece.store_at(row.hidden, larger(gate(row, piece, 0), broadcast(0)));
  });
}

// The gradient of an activation's operand by the activation: of a sigmoid, of a tanh.
inline Lanes through_sigmoid(const Lanes& grad, const Lanes& y) {
  return grad * y * (broadcast(1) - y);
}
inline Lanes through_tanh(const Lanes& grad, const Lanes& y) {
  return grad * (broadcast(1) - y * y);
}

// The gradient of the hidden state after the step.
inline Lanes hidden_gradient(const GateGradientRow& row, const Piece& piece) {
  const Lanes grad = piece.load_at(row.carried);
  return row.output == nullptr ? grad : grad + piece.load_at(row.output);
}

void lstm_back_row(const GateGradientRow& row) {
  for_pieces_of(row.size, [&](const Piece& piece) {
    const auto share = [&](int64_t index) {
      const int64_t at = index * row.size;
      return piece.load_at(row.input + at) + piece.load_at(row.state + at);
    };
    const Lanes enters = sigmoid_lanes(share(0));
    const Lanes stays = sigmoid_lanes(share(1));
    const Lanes fresh = tanh_lanes(share(2));
    const Lanes shows = sigmoid_lanes(share(3));
    const Lanes shown = tanh_lanes(piece.load_at(row.after));
    const Lanes grad = hidden_gradient(row, piece);
    const Lanes of_cell = piece.load_at(row.cell) + through_tanh(grad * shows, shown);
    piece.store_at(row.state, through_sigmoid(of_cell * fresh, enters));
    piece.store_at(row.state + row.size,
                   through_sigmoid(of_cell * piece.load_at(row.before), stays));
    piece.store_at(row.state + 2 * row.size, through_tanh(of_cell * enters, fresh));
    piece.store_at(row.state + 3 * row.size, through_sigmoid(grad * shown, shows));
    piece.store_at(row.cell, of_cell * stays);
  });
}

void gru_back_row(const GateGradientRow& row) {
  for_pieces_of(row.size, [&](const Piece& piece) {
    const auto of_state = [&](int64_t index) {
      const int64_t at = index * row.size;
      const Lanes x = piece.load_at(row.state + at);
      return row.state_bias == nullptr ? x : x + piece.load_at(row.state_bias + at);
    };
    const auto both = [&](int64_t index) {
      return piece.load_at(row.input + index * row.size) + of_state(index);
    };
    const Lanes reset = sigmoid_lanes(both(0));
    const Lanes update = sigmoid_lanes(both(1));
    const Lanes remembered = of_state(2);
    const Lanes fresh = tanh_lanes(piece.load_at(row.input + 2 * row.size) + reset * remembered);
    const Lanes grad = hidden_gradient(row, piece) + piece.load_at(row.passed);
    const Lanes of_fresh = through_tanh(grad * (broadcast(1) - update), fresh);
    const Lanes of_update = through_sigmoid(grad * (piece.load_at(row.before) - fresh), update);
    const Lanes of_reset = through_sigmoid(of_fresh * remembered, reset);
    for (float* to : {row.input_gradient, row.state}) {
      piece.store_at(to, of_reset);
      piece.store_at(to + row.size, of_update);
    }
    piece.store_at(row.input_gradient + 2 * row.size, of_fresh);
    piece.store_at(row.state + 2 * row.size, of_fresh * reset);
    piece.store_at(row.passed, grad * update);
  });
}

constexpr GateKernels kGateKernels{&lstm_row, &gru_row,       &tanh_row,
                                   &relu_row, &lstm_back_row, &gru_back_row};

}  // namespace
}  // namespace tierup::kernels
