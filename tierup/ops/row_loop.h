// RowLoop: one run of a compiled group with members that work on rows.
//
// Everything has the shape [..., n], [..., 1], [n] or one element, and is dense; else the group's
// twin runs. The rows are taken in tiles that fit a near cache: for each tile the stages run one
// after another, kernels over machine code and row members through their rows' tier-0 kernels on
// views of the tile, so that rows are folded in tier 0's order.
#pragma once

#include <span>
#include <vector>

#include "tierup/ops/fusion_group.h"

namespace tierup::ops {

class RowLoop {
 public:
  RowLoop(const CompiledGroup& kernel, const GroupProgram& program, std::span<IValue> inputs);

  // False, with nothing done, if the inputs are laid out otherwise.
  bool run(OpCall& call);

 private:
  // How a value relates to the rows.
  enum class Spread : uint8_t {
    kSingle,  // One element.
    kRow,     // One row, the same for all.
    kColumn,  // One element for each row.
    kFull,
  };
  class Tile;

  bool find_shape();
  bool find_spreads();
  static Spread joined(Spread a, Spread b);
  void make_outputs();
  int64_t elements_of(Spread spread, int64_t rows) const;

  const CompiledGroup& kernel_;
  const GroupProgram& program_;
  SmallVector<const Tensor*, 8> inputs_;
  std::vector<Tensor> holders_;
  std::vector<Spread> input_spreads_;
  std::vector<Spread> member_spreads_;
  std::vector<Tensor> outputs_;
  std::vector<int> output_of_;  // Of members: the index among the outputs, or -1.
  IntVector shape_;
  int64_t rows_ = 1;
  int64_t width_ = 1;
};

}  // namespace tierup::ops
