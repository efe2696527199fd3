// RowLoop: one run of a compiled group with members that work on rows.
//
// The group has a space [..., row], the inputs broadcast; what lies otherwise than kernels read it
// is brought together for each tile. Rows are taken in tiles that fit a near cache: for each
// tile the stages run one after another, kernels over machine code and row members through their
// rows' tier-0 kernels on the tile, so that rows are folded in tier 0's order. What is laid out
// otherwise is left to the group's twin.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tierup/ops/regions/block_source.h"
#include "tierup/ops/regions/fusion_group.h"

namespace tierup::ops {

class RowLoop {
 public:
  RowLoop(const CompiledGroup& kernel, const GroupProgram& program,
          const std::vector<InputUse>& uses, std::span<IValue> inputs);

  // False, with nothing done, if the inputs are laid out otherwise.
  bool run(OpCall& call);

 private:
  class Tile;

  // Where a value varies: a bit for each dimension of the space in which it has more than one
  // element. A flat value has no bits of a row.
  struct Extent {
    uint64_t dims = 0;
    size_t rank = 0;
    bool is_flat = false;
  };
  // How to find an input's element for a row: outer strides in elements, 0 where it is repeated.
  struct Lay {
    IntVector strides;
    int64_t step = -1;           // From row to row, if it is the same everywhere.
    bool has_dense_rows = true;  // The elements of a row lie one after another, and are all there.
    // Otherwise: strides within a row, 0 where it is repeated, and where the pieces of one begin.
    IntVector row_strides;
    IntVector pieces;
    int64_t piece_step = 1;  // From element to element: 0, or 1.
  };
  // A member that looks up.
  struct RowLookUp {
    LookUp how;
    std::optional<BlockSource> source;  // Over the space, or one element for each row.
  };

  bool find_shape();
  bool has_dense_rows(const Tensor& tensor, const Extent& extent) const;
  int64_t step_of(const IntVector& strides) const;
  bool find_look_ups();
  bool find_extent(RowLookUp& look_up);
  bool find_extents();
  bool find_extent(size_t input);
  bool place_in_space(const Tensor& tensor, Extent& extent, Lay& lay) const;
  size_t piece_rank_of(const Lay& lay) const;
  void find_pieces();
  bool can_run_row_member(const GroupMember& member) const;
  bool can_run_stage(const CompiledKernel& stage) const;
  bool keeps_rows(const IntVector& sizes, const IntVector& strides) const;
  bool gives_dense_results() const;
  IntVector sizes_of(RowSpace space) const;
  void make_outputs(bool one_tile);

  const Extent& extent(GroupArgument::Source source, uint32_t index) const {
    return source == GroupArgument::Source::kInput ? input_extents_[index] : member_extents_[index];
  }
  // Whether it has all elements of a row; otherwise, one.
  bool is_wide(const Extent& extent) const { return (extent.dims & row_dims_) != 0; }
  RowSpace space_of(uint32_t member) const {
    const Extent& extent = member_extents_[member];
    if (extent.is_flat) return RowSpace::kFlat;
    return is_wide(extent) ? RowSpace::kFull : RowSpace::kColumn;
  }
  bool has_all(const Extent& extent) const { return extent.dims == (row_dims_ | outer_dims_); }
  size_t outer_rank() const { return shape_.size() - program_.row_rank; }
  int64_t offset_of(const Lay& lay, int64_t row) const;

  const CompiledGroup& kernel_;
  const GroupProgram& program_;
  const std::vector<InputUse>& uses_;
  SmallVector<Tensor, 8> inputs_;
  SmallVector<Extent, 8> input_extents_;
  SmallVector<Lay, 8> lays_;
  SmallVector<Extent, 16> member_extents_;
  std::map<uint32_t, RowLookUp> look_ups_;  // By member.
  SmallVector<Tensor, 2> outputs_;
  SmallVector<int, 16> output_of_;  // Of members: the index among the outputs, or -1.
  IntVector shape_;
  uint64_t row_dims_ = 0;  // Dimensions of more than one element.
  uint64_t outer_dims_ = 0;
  int64_t rows_ = 1;
  int64_t width_ = 1;
  // A row falls into pieces that each input has side by side, or of one element.
  int64_t piece_width_ = 1;
  bool is_dense_ = true;  // All inputs are contiguous.
};

}  // namespace tierup::ops
