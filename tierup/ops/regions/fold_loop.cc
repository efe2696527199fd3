#include "tierup/ops/regions/fold_loop.h"

#include <algorithm>
#include <array>

#include "tierup/base/parallel.h"
#include "tierup/ops/regions/fold_values.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/space_shape.h"
#include "tierup/ops/table/facts.h"

namespace tierup::ops {
namespace {

constexpr int64_t kChunk = 256;  // Elements that are folded one after another.

}  // namespace

FoldLoop::FoldLoop(const CompiledGroup& kernel, const GroupProgram& program,
                   std::span<IValue> inputs)
    : kernel_(kernel), program_(program) {
  for (const IValue& input : inputs) inputs_.push_back(input.to_tensor());
  for (const GroupMember& member : program.members) {
    if (member.by_rows) folded_ = member.folded;
  }
}

FoldKind FoldLoop::fold_of(size_t output) const {
  const GroupMember& member = program_.members[program_.outputs[output]];
  return member.by_rows ? member.op->facts().fold : FoldKind::kNone;
}

bool FoldLoop::find_shape() {
  for (const Tensor& input : inputs_) {
    if (!widen(shape_, input.sizes())) return false;
  }
  const bool has_rank = program_.rank == 0 || shape_.size() == program_.rank;
  if (shape_.size() < program_.row_rank || !has_rank) return false;
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] == 0) return false;
    if (is_folded(d)) {
      rows_ *= shape_[d];
    } else if (d + 1 < shape_.size()) {
      outer_.push_back(shape_[d]);
    }
  }
  pieces_ = (shape_.back() + kFoldPiece - 1) / kFoldPiece;
  return true;
}

// Whether what is folded, or stored, has the whole space's shape.
bool FoldLoop::has_whole_values() const {
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
    shapes.push_back(std::move(shape));
  }
  return std::ranges::all_of(program_.outputs,
                             [&](uint32_t output) { return same_sizes(shapes[output], shape_); });
}

// None if it does not go evenly along the folded dimensions. `strides` are those of the last
// dimensions of the space, in elements.
std::optional<FoldLoop::Lay> FoldLoop::lay_of(const Tensor& tensor,
                                              const IntVector& strides) const {
  const auto item = static_cast<int64_t>(tensor.item_size());
  const size_t missing = shape_.size() - strides.size();
  const auto stride_of = [&](size_t d) { return d < missing ? 0 : strides[d - missing] * item; };
  Lay lay;
  lay.data = static_cast<char*>(tensor.raw());
  int64_t next = -1;  // What the stride of the next folded dimension has to be.
  for (size_t d = shape_.size() - 1; d-- > 0;) {
    if (!is_folded(d) || shape_[d] == 1) continue;
    if (next < 0) lay.fold_stride = stride_of(d);
    if (next >= 0 && stride_of(d) != next) return std::nullopt;
    next = stride_of(d) * shape_[d];
  }
  for (size_t d = 0; d + 1 < shape_.size(); ++d) {
    if (!is_folded(d)) lay.strides.push_back(stride_of(d));
  }
  lay.lane_stride = stride_of(shape_.size() - 1);
  return lay;
}

bool FoldLoop::find_inputs() {
  const CompiledKernel& stage = kernel_.stages.front();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& tensor = inputs_[i];
    IntVector strides(tensor.strides().begin(), tensor.strides().end());
    for (size_t d = 0; d < strides.size(); ++d) {
      if (tensor.sizes()[d] == 1) strides[d] = 0;
    }
    std::optional<Lay> lay = lay_of(tensor, strides);
    if (!lay) return false;
    const int64_t step = stage.inputs[i].uniform ? 0 : static_cast<int64_t>(tensor.item_size());
    if (shape_.back() > 1 && lay->lane_stride != step) return false;
    lays_.push_back(*std::move(lay));
  }
  return true;
}

// In order, as tier 0's folds give them; what is stored as well lies so if all inputs do.
bool FoldLoop::make_outputs() {
  const bool lies_in_order =
      std::ranges::all_of(inputs_, [](const Tensor& input) { return input.is_contiguous(); });
  for (const uint32_t output : program_.outputs) {
    const GroupMember& member = program_.members[output];
    if (!member.by_rows && !lies_in_order) return false;
    IntVector sizes = shape_;
    const auto first = sizes.begin() + static_cast<ptrdiff_t>(first_folded());
    if (member.by_rows) std::fill_n(first, folded_, 1);
    IntVector strides = contiguous_strides(sizes);
    if (member.by_rows) std::fill_n(strides.begin() + (first - sizes.begin()), folded_, 0);
    if (member.space == RowSpace::kFlatPart) {
      sizes.erase(first, first + static_cast<ptrdiff_t>(folded_));
    }
    outputs_.push_back(Tensor::empty(sizes, kernel_.members[output].dtype));
    lays_.push_back(*lay_of(outputs_.back(), strides));
  }
  return true;
}

// Before the first chunk of rows, what an output begins with; behind the last one, a mean.
void FoldLoop::run_piece(int64_t piece) const {
  const size_t operands = lays_.size();
  std::array<char*, FusedLoop::kMaxOperands> data;
  std::array<int64_t, 2 * FusedLoop::kMaxOperands + 1> strides;
  const int64_t first_lane = piece % pieces_ * kFoldPiece;
  const int64_t lanes = std::min(kFoldPiece, shape_.back() - first_lane);
  for (size_t k = 0; k < operands; ++k) {
    const Lay& lay = lays_[k];
    data[k] =
        lay.data + first_lane * lay.lane_stride + place_of(piece / pieces_, outer_, lay.strides);
    strides[k] = lay.lane_stride;
    strides[operands + k] = lay.fold_stride;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    begin_fold(fold_of(i), outputs_[i].dtype(), data[i], lanes);
  }
  const std::array<char*, FusedLoop::kMaxOperands> folds = data;
  for (int64_t row = 0; row < rows_; row += kChunk) {
    strides[2 * operands] = std::min(kChunk, rows_ - row);
    kernel_.stages.front().function(data.data(), strides.data(), nullptr, lanes);
    for (size_t k = 0; k < operands; ++k) data[k] += kChunk * lays_[k].fold_stride;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    finish_fold(fold_of(i), outputs_[i].dtype(), folds[i], lanes, rows_);
  }
}

bool FoldLoop::run(std::span<IValue> results) {
  if (!find_shape() || !has_whole_values() || !make_outputs() || !find_inputs()) return false;
  int64_t count = pieces_;
  for (const int64_t size : outer_) count *= size;
  const int64_t elements = rows_ * std::min(kFoldPiece, shape_.back());
  parallel_for(0, count, std::max<int64_t>(1, kernel_.grain / elements),
               [&](int64_t begin, int64_t end) {
                 for (int64_t piece = begin; piece < end; ++piece) run_piece(piece);
               });
  for (size_t i = 0; i < outputs_.size(); ++i) results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
