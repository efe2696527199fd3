// BatchCut: whether a net over a batch is better run as nets over pieces of it, each by one thread.
//
// Most nets do the same to each entry of a batch (the first dimension of their inputs), and nothing
// across entries. A net over the whole batch goes layer by layer: its threads wait for each other
// behind every one, and what a layer made of all entries has left the caches when the next layer
// reads it. Over one entry, or a few, all layers' numbers may stay in a core's own cache, and
// threads that take other pieces need not wait; but weights that few rows read are read once for
// each piece. What is better follows from the bytes that each way moves, of the net's sizes and the
// caches'; nothing is timed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tierup/kernels/net/layers.h"

namespace tierup::kernels::net {

struct BatchCut {
  int64_t entries = 0;  // Of the batch; pieces are equal.
  int64_t piece = 0;    // Entries of one.
  int64_t pieces() const { return entries / piece; }
};

// The batch's size, as the first tensor among the inputs has it that is no vector; 1 if none is.
int64_t entries_of(std::span<const IValue> inputs);

// Whether the program's net for these inputs takes the entries of their batch one by one, so that
// parts of the batch give parts of each result. `net`: as resolve() gives it. Any thread.
bool goes_by_entries(const LayerNet& net, const Program& program, std::span<const IValue> inputs);

// Nothing where such a net is better run as a whole. `net` is fused.
std::optional<BatchCut> best_cut(const LayerNet& net, int64_t entries, int threads);

// Inputs of a piece's sizes, without numbers, to compile for.
std::vector<IValue> sizes_of_piece(const BatchCut& cut, std::span<const IValue> inputs);
// The inputs of one piece: parts of the tensors whose first dimension is the batch, which lie in
// order.
std::vector<IValue> inputs_of(const BatchCut& cut, std::span<const IValue> inputs, int64_t piece);

// Bytes that threads move beyond the caches nearest to them, each once for every cache that it
// passes. What they wait for counts as what they could move meanwhile. `net` is fused.
class MovedBytes {
 public:
  // In bytes, of one core and of all of them.
  struct Caches {
    int64_t own = 0;
    int64_t shared = 0;
  };
  // `lanes`: of a vector.
  MovedBytes(const LayerNet& net, int64_t entries, int threads, Caches caches, int64_t lanes);

  double of_whole() const;
  // By pieces of so many entries.
  double of_pieces(int64_t piece) const;

 private:
  struct LayerSizes {
    double numbers = 0;      // Bytes of operands and result, of all entries.
    double weights = 0;      // Bytes.
    double rows = 0;         // That read the weights.
    bool is_shared = false;  // By the threads of a whole net.
  };
  double of_numbers(double share) const;
  double of_weights(double share) const;

  std::vector<LayerSizes> layers_;
  double weights_ = 0;  // Bytes of all.
  const double entries_, threads_;
  const Caches caches_;
  const double lanes_;
};

}  // namespace tierup::kernels::net
