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

constexpr GateKernels kGateKernels{&lstm_row, &gru_row, &tanh_row, &relu_row};

}  // namespace
}  // namespace tierup::kernels
