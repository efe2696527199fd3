#include "tierup/ops/regions/fold_loop.h"

#include <algorithm>
#include <array>
#include <memory>

#include "tierup/base/float_flags.h"
#include "tierup/base/parallel.h"
#include "tierup/ops/regions/fold_values.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/space_shape.h"

namespace tierup::ops {
namespace {

constexpr int64_t kChunk = 256;          // Elements that are folded one after another.
constexpr int64_t kTileBytes = 1 << 18;  // Of what several stages go over.
constexpr int64_t kFewPieces = 8;
constexpr int64_t kFewLanes = 16;  // Fewer are too few if others could have stood beside them.

}  // namespace

FoldLoop::FoldLoop(const CompiledFolds& kernels, const GroupProgram& program,
                   std::span<IValue> inputs)
    : kernels_(kernels), program_(program) {
  for (const IValue& input : inputs) inputs_.push_back(input.to_tensor());
  for (const GroupMember& member : program.members) {
    if (member.by_rows) folded_ = member.folded;
  }
}

bool FoldLoop::find_shape() {
  for (const Tensor& input : inputs_) {
    if (!widen(shape_, input.sizes())) return false;
  }
  const bool has_rank = program_.rank == 0 || shape_.size() == program_.rank;
  return shape_.size() >= program_.row_rank && has_rank &&
         std::ranges::find(shape_, 0) == shape_.end();
}

// Whether what is folded, or stored, has the whole space's shape, or one element for all that is
// folded if the kernels take it so.
bool FoldLoop::has_whole_values() const {
  const auto first = static_cast<ptrdiff_t>(first_folded());
  IntVector part = shape_;
  std::fill_n(part.begin() + first, folded_, 1);
  IntVector flat = shape_;
  flat.erase(flat.begin() + first, flat.begin() + first + static_cast<ptrdiff_t>(folded_));
  SmallVector<IntVector, 16> shapes;
  for (const GroupMember& member : program_.members) {
    IntVector shape;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kConstant) continue;
      const bool is_input = argument.source == GroupArgument::Source::kInput;
      if (!widen(shape, is_input ? inputs_[argument.index].sizes() : shapes[argument.index])) {
        return false;
      }
    }
    if (member.by_rows && !same_sizes(shape, shape_)) return false;
    if (member.by_rows && is_part(member.space)) {
      shape = member.space == RowSpace::kPart ? part : flat;
    }
    shapes.push_back(std::move(shape));
  }
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const GroupMember& member = program_.members[program_.outputs[i]];
    const bool is_still = kernels_.values[i].is_still;
    const IntVector& wanted = !is_still                             ? shape_
                              : member.space == RowSpace::kFlatPart ? flat
                                                                    : part;
    if (!same_sizes(shapes[program_.outputs[i]], wanted)) return false;
  }
  return true;
}

IntVector FoldLoop::strides_of(const Tensor& input) const {
  IntVector strides(shape_.size(), 0);
  const size_t missing = shape_.size() - input.sizes().size();
  for (size_t d = missing; d < shape_.size(); ++d) {
    if (input.sizes()[d - missing] != 1) strides[d] = input.strides()[d - missing];
  }
  return strides;
}

// Lanes go along as many of the last dimensions as lie like one in all inputs.
void FoldLoop::find_lanes() {
  first_lane_ = shape_.size() - 1;
  while (first_lane_ > first_folded() + folded_ && are_lanes(first_lane_ - 1)) --first_lane_;
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (is_folded(d)) {
      rows_ *= shape_[d];
    } else if (d < first_lane_) {
      outer_.push_back(shape_[d]);
    } else {
      lanes_ *= shape_[d];
    }
  }
}

int64_t FoldLoop::kept_elements() const {
  int64_t count = 1;
  for (size_t d = first_folded() + folded_; d < shape_.size(); ++d) count *= shape_[d];
  return count;
}

bool FoldLoop::are_lanes(size_t dim) const {
  return std::ranges::all_of(inputs_, [&](const Tensor& input) {
    const IntVector strides = strides_of(input);
    return shape_[dim] == 1 || strides[dim] == strides[dim + 1] * shape_[dim + 1];
  });
}

// None if it does not go evenly along the folded dimensions. The strides are in elements.
std::optional<FoldLoop::Lay> FoldLoop::lay_of(const Tensor& tensor,
                                              const IntVector& strides) const {
  const auto item = static_cast<int64_t>(tensor.item_size());
  Lay lay;
  lay.data = static_cast<char*>(tensor.raw());
  int64_t next = -1;  // What the stride of the next folded dimension has to be.
  for (size_t d = first_lane_; d-- > 0;) {
    if (!is_folded(d) || shape_[d] == 1) continue;
    if (next < 0) lay.fold_stride = strides[d] * item;
    if (next >= 0 && strides[d] * item != next) return std::nullopt;
    next = strides[d] * item * shape_[d];
  }
  for (size_t d = 0; d < first_lane_; ++d) {
    if (!is_folded(d)) lay.strides.push_back(strides[d] * item);
  }
  for (size_t d = first_lane_; d < shape_.size(); ++d) {
    if (shape_[d] > 1) lay.lane_stride = strides[d] * item;
  }
  return lay;
}

bool FoldLoop::find_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::optional<Lay> lay = lay_of(inputs_[i], strides_of(inputs_[i]));
    if (!lay || (kernels_.still[i] && lay->fold_stride != 0)) return false;
    const int64_t step = kernels_.uniform[i] ? 0 : static_cast<int64_t>(inputs_[i].item_size());
    if (lanes_ > 1 && lay->lane_stride != step) return false;
    lays_.push_back(*std::move(lay));
  }
  return true;
}

// In order, as tier 0's folds give them; what is stored as well lies so if all inputs do.
bool FoldLoop::make_outputs() {
  const bool lies_in_order =
      std::ranges::all_of(inputs_, [](const Tensor& input) { return input.is_contiguous(); });
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const uint32_t output = program_.outputs[i];
    const bool is_still = kernels_.values[i].is_still;
    if (!is_still && !lies_in_order) return false;
    IntVector sizes = shape_;
    const auto first = sizes.begin() + static_cast<ptrdiff_t>(first_folded());
    if (is_still) std::fill_n(first, folded_, 1);
    IntVector strides = contiguous_strides(sizes);
    if (is_still) std::fill_n(strides.begin() + (first - sizes.begin()), folded_, 0);
    if (program_.members[output].space == RowSpace::kFlatPart) {
      sizes.erase(first, first + static_cast<ptrdiff_t>(folded_));
    }
    outputs_.push_back(Tensor::empty(sizes, kernels_.members[output].dtype));
    lays_.push_back(*lay_of(outputs_.back(), strides));
  }
  return true;
}

// Several stages go over tiles that stay in a near cache.
void FoldLoop::find_pieces() {
  int64_t outer = 1;
  for (const int64_t size : outer_) outer *= size;
  if (outer * (lanes_ / piece_) < kFewPieces) piece_ = kNarrowFoldPiece;
  if (kernels_.stages.size() > 1) {
    int64_t bytes = 1;  // Of a lane.
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (lays_[i].fold_stride != 0 && lays_[i].lane_stride != 0) {
        bytes += rows_ * static_cast<int64_t>(inputs_[i].item_size());
      }
    }
    for (size_t v = 0; v < kernels_.values.size(); ++v) {
      if (!kernels_.values[v].is_still) bytes += rows_ * item(v);
    }
    piece_ = std::clamp(kTileBytes / bytes / kNarrowFoldPiece * kNarrowFoldPiece, kNarrowFoldPiece,
                        piece_);
  }
  piece_ = std::min(piece_, lanes_);
  pieces_ = (lanes_ + piece_ - 1) / piece_;
  count_ = outer * pieces_;
  // What later stages alone read lies tile by tile.
  for (size_t v = outputs_.size(); v < kernels_.values.size(); ++v) {
    lays_.push_back({nullptr, {}, kernels_.values[v].is_still ? 0 : piece_ * item(v), item(v)});
  }
}

// Of a value of one tile, in whole cache lines.
int64_t FoldLoop::tile_bytes(size_t value) const {
  constexpr int64_t kLine = 64;
  const int64_t bytes = item(value) * piece_ * (kernels_.values[value].is_still ? 1 : rows_);
  return (bytes + kLine - 1) / kLine * kLine;
}

size_t FoldLoop::scratch_bytes() const {
  int64_t bytes = 0;
  for (size_t v = outputs_.size(); v < kernels_.values.size(); ++v) bytes += tile_bytes(v);
  return static_cast<size_t>(bytes);
}

// `data` are the addresses of inputs and values. Before the first chunk of rows, what a fold begins
// with; behind the last one, a mean.
void FoldLoop::run_stage(const FoldStage& stage, std::span<char* const> data, int64_t lanes) {
  const size_t operands = stage.operands.size();
  std::array<char*, FusedLoop::kMaxOperands> places;
  std::array<int64_t, 2 * FusedLoop::kMaxOperands + 1> strides;
  for (size_t k = 0; k < operands; ++k) {
    places[k] = data[stage.operands[k]];
    strides[k] = lays_[stage.operands[k]].lane_stride;
    strides[operands + k] = lays_[stage.operands[k]].fold_stride;
  }
  const auto each_output = [&](const auto& act) {
    for (size_t k = 0; k < stage.outputs; ++k) {
      const FoldValue& value = kernels_.values[stage.operands[k] - inputs_.size()];
      act(value, data[stage.operands[k]]);
    }
  };
  each_output([&](const FoldValue& value, char* place) {
    begin_fold(value.fold, value.dtype, place, lanes);
  });
  for (int64_t row = 0; row < rows_; row += kChunk) {
    strides[2 * operands] = std::min(kChunk, rows_ - row);
    stage.function(places.data(), strides.data(), nullptr, lanes);
    for (size_t k = 0; k < operands; ++k) places[k] += kChunk * strides[operands + k];
  }
  each_output([&](const FoldValue& value, char* place) {
    finish_fold(value.fold, value.dtype, place, lanes,
                std::max(0.0, static_cast<double>(rows_) - value.less));
    if (value.is_variance && are_out_of_range(float_flags(), value.dtype, place, lanes))
      leaves_range_.store(true, std::memory_order_relaxed);
  });
}

void FoldLoop::run_piece(int64_t piece, char* scratch) {
  SmallVector<char*, 16> data;
  const int64_t first_lane = piece % pieces_ * piece_;
  const int64_t lanes = std::min(piece_, lanes_ - first_lane);
  for (size_t k = 0; k < lays_.size(); ++k) {
    const Lay& lay = lays_[k];
    if (lay.data != nullptr) {
      data.push_back(lay.data + first_lane * lay.lane_stride +
                     place_of(piece / pieces_, outer_, lay.strides));
      continue;
    }
    data.push_back(scratch);
    scratch += tile_bytes(k - inputs_.size());
  }
  for (const FoldStage& stage : kernels_.stages) {
    run_stage(stage, std::span<char* const>(data.data(), data.size()), lanes);
  }
}

bool FoldLoop::run(std::span<IValue> results) {
  if (!find_shape() || !has_whole_values()) return false;
  find_lanes();
  if (lanes_ < kFewLanes && lanes_ < kept_elements()) return false;
  if (!find_inputs() || !make_outputs()) return false;
  find_pieces();
  const int64_t grain = std::max<int64_t>(1, kernels_.grain / (rows_ * piece_));
  parallel_for(0, count_, grain, [&](int64_t begin, int64_t end) {
    const auto scratch = std::make_unique_for_overwrite<char[]>(scratch_bytes());
    const uint32_t flags = clear_float_flags();  // Variances are looked at behind what raises them.
    for (int64_t piece = begin; piece < end && !leaves_range(); ++piece)
      run_piece(piece, scratch.get());
    raise_float_flags(flags);
  });
  if (leaves_range()) return false;
  for (size_t i = 0; i < outputs_.size(); ++i) results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
