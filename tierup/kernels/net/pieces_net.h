// PiecesNet: a batch by a net over a piece of it (batch_cut.h), pieces side by side on threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tierup/kernels/net/batch_cut.h"
#include "tierup/kernels/net/compiled_net.h"

namespace tierup::kernels::net {

// A result of the whole batch, of which each piece is a stretch of the memory.
struct PieceResult {
  IntVector sizes, strides;
};

// Of a net that goes by the entries of its batch. `strides` as the caller wants the results to lie;
// empty: row-major. Nothing where entries do not lie one behind the other.
std::optional<std::vector<PieceResult>> results_of_pieces(const LayerNet& net, int64_t entries,
                                                          const std::vector<IntVector>& strides);

// `piece` is compiled for the inputs of one piece and one thread.
std::unique_ptr<CompiledNet> make_pieces_net(const BatchCut& cut, std::vector<PieceResult> results,
                                             std::unique_ptr<CompiledNet> piece);

}  // namespace tierup::kernels::net
