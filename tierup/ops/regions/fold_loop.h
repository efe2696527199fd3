// FoldLoop: one run of a compiled group whose row members fold a part of each row's dimensions.
//
// The group has one space, the inputs broadcast: [outer..., folded..., kept...]. Kernels go along
// the last dimensions by lanes and, for each block of them, along the folded dimensions, with what
// is folded in registers: nothing that is folded is stored. What reads a fold's result is made by
// a further stage (fold_stage.h) on the same tile. The other dimensions, and pieces of the lanes,
// go over threads. Each element is folded in the order of its dimension, in chunks of some hundred,
// whose results are folded in turn; that is another order than tier 0's.
#pragma once

#include <atomic>
#include <optional>
#include <span>

#include "tierup/ops/regions/fold_stage.h"

namespace tierup::ops {

// Lanes that are one piece of work, if nothing reads a fold's result; and where such pieces would
// be few, or tiles of what is folded are large.
inline constexpr int64_t kFoldPiece = 256;
inline constexpr int64_t kNarrowFoldPiece = 64;

class FoldLoop {
 public:
  FoldLoop(const CompiledFolds& kernels, const GroupProgram& program, std::span<IValue> inputs);

  // False, without results, if the inputs are laid out otherwise than the kernels read them, or
  // leaves_range() of what they sum in.
  bool run(std::span<IValue> results);
  bool leaves_range() const { return leaves_range_.load(std::memory_order_relaxed); }

 private:
  // How an operand lies in the space, in bytes.
  struct Lay {
    char* data = nullptr;
    IntVector strides;  // Of the dimensions that are neither folded nor lanes.
    int64_t fold_stride = 0;
    int64_t lane_stride = 0;
  };

  bool find_shape();
  bool has_whole_values() const;
  void find_lanes();
  bool are_lanes(size_t dim) const;
  int64_t kept_elements() const;
  std::optional<Lay> lay_of(const Tensor& tensor, const IntVector& strides) const;
  IntVector strides_of(const Tensor& input) const;
  bool find_inputs();
  bool make_outputs();
  void find_pieces();
  int64_t tile_bytes(size_t value) const;
  size_t scratch_bytes() const;
  void run_piece(int64_t piece, char* scratch);
  void run_stage(const FoldStage& stage, std::span<char* const> data, int64_t lanes);
  size_t first_folded() const { return shape_.size() - program_.row_rank; }
  bool is_folded(size_t dim) const {
    return dim >= first_folded() && dim < first_folded() + folded_;
  }
  int64_t item(size_t value) const {
    return static_cast<int64_t>(item_size(kernels_.values[value].dtype));
  }

  const CompiledFolds& kernels_;
  const GroupProgram& program_;
  SmallVector<Tensor, 8> inputs_;
  SmallVector<Tensor, 2> outputs_;
  SmallVector<Lay, 8> lays_;  // Of inputs, then of values; without data of what is no output.
  IntVector shape_;
  size_t folded_ = 0;      // Dimensions...
  size_t first_lane_ = 0;  // ...and the first one of the lanes.
  IntVector outer_;        // Sizes of the dimensions that are neither.
  int64_t rows_ = 1;       // Elements that are folded.
  int64_t lanes_ = 1;
  int64_t piece_ = kFoldPiece;  // Lanes of a piece of work.
  int64_t pieces_ = 1;          // Of the lanes.
  int64_t count_ = 1;           // Of all pieces.
  std::atomic<bool> leaves_range_{false};
};

}  // namespace tierup::ops
