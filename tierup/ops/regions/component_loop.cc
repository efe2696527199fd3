#include "tierup/ops/regions/component_loop.h"

#include <algorithm>
#include <array>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/ops/regions/fold_values.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/space_shape.h"

namespace tierup::ops {
namespace {

constexpr int64_t kPiece = 2048;  // Lanes that are one piece of work, if they are not folded.

}  // namespace

ComponentLoop::ComponentLoop(const CompiledGroup& kernel, const GroupProgram& program,
                             std::span<IValue> inputs)
    : kernel_(kernel), program_(program), has_folds_(folds_parts(program)) {
  for (const IValue& input : inputs) inputs_.push_back(input.to_tensor());
}

bool ComponentLoop::folds_part(uint32_t member) const {
  return program_.members[member].by_rows && is_part(program_.members[member].space);
}

bool ComponentLoop::find_shape() {
  for (const Tensor& input : inputs_) {
    if (!widen(shape_, input.sizes())) return false;
  }
  const bool has_rank = program_.rank == 0 || shape_.size() == program_.rank;
  if (shape_.size() < std::max<size_t>(2, program_.row_rank) || !has_rank ||
      shape_.back() != program_.components) {
    return false;
  }
  for (size_t d = 0; d + 1 < shape_.size(); ++d) {
    if (shape_[d] == 0) return false;
    if (d == lane_dim()) continue;
    if (is_folded(d)) {
      folded_.push_back(shape_[d]);
      rows_ *= shape_[d];
    } else {
      outer_.push_back(shape_[d]);
    }
  }
  lanes_ = shape_[lane_dim()];
  piece_ = has_folds_ ? lanes_ : std::min(lanes_, kPiece);
  pieces_ = (lanes_ + piece_ - 1) / piece_;
  return true;
}

// Whether what is folded, or stored, has the whole space's shape but for the last dimension; notes
// how many components of it there are.
bool ComponentLoop::find_whole_values() {
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
    if (member.by_rows && member.space == RowSpace::kColumn && !shape.empty()) shape.back() = 1;
    shapes.push_back(std::move(shape));
  }
  return std::ranges::all_of(program_.outputs, [&](uint32_t output) {
    const IntVector& shape = shapes[output];
    if (shape.size() != shape_.size()) return false;
    components_.push_back(shape.back());
    return std::equal(shape.begin(), shape.end() - 1, shape_.begin());
  });
}

// `strides` are those of the last dimensions of the space, in elements.
void ComponentLoop::add_lay(const Tensor& tensor, const IntVector& strides) {
  const auto item = static_cast<int64_t>(tensor.item_size());
  const size_t missing = shape_.size() - strides.size();
  Lay lay;
  lay.data = static_cast<char*>(tensor.raw());
  for (size_t d = 0; d < lane_dim(); ++d) {
    const int64_t stride = d < missing ? 0 : strides[d - missing] * item;
    (is_folded(d) ? lay.folded : lay.outer).push_back(stride);
  }
  lay.lane = lane_dim() < missing ? 0 : strides[lane_dim() - missing] * item;
  lays_.push_back(std::move(lay));
}

// Inputs whose elements lie otherwise than the kernel reads them are brought into order before:
// they are the smaller ones where anything is broadcast.
bool ComponentLoop::find_inputs() {
  const CompiledKernel& stage = kernel_.stages.front();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const KernelInput& expected = stage.inputs[i];
    const IntSpan sizes = inputs_[i].sizes();
    const size_t rank = sizes.size();
    const int64_t components = rank == 0 ? 1 : sizes[rank - 1];
    const int64_t lanes = rank < 2 ? 1 : sizes[rank - 2];
    if (components != expected.components || lanes != (expected.uniform ? 1 : lanes_)) return false;
    const auto lies_apart = [&](size_t d, int64_t stride) {
      return sizes[d] > 1 && inputs_[i].strides()[d] != stride;
    };
    if (rank > 0 && (lies_apart(rank - 1, 1) || (rank > 1 && lies_apart(rank - 2, components)))) {
      inputs_[i] = kernels::contiguous(inputs_[i]);
    }
    IntVector strides(inputs_[i].strides().begin(), inputs_[i].strides().end());
    for (size_t d = 0; d < rank; ++d) {
      if (sizes[d] == 1) strides[d] = 0;
    }
    add_lay(inputs_[i], strides);
  }
  return true;
}

// In order, as tier 0's folds give them; what is stored as well lies so if all inputs do.
bool ComponentLoop::make_outputs() {
  const bool lies_in_order =
      std::ranges::all_of(inputs_, [](const Tensor& input) { return input.is_contiguous(); });
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const uint32_t output = program_.outputs[i];
    const GroupMember& member = program_.members[output];
    if (!member.by_rows && !lies_in_order) return false;
    IntVector sizes = shape_;
    sizes.back() = components_[i];
    const auto first = sizes.end() - static_cast<ptrdiff_t>(program_.row_rank);
    const auto last = sizes.end() - 1;
    if (folds_part(output)) std::fill(first, last, 1);
    IntVector strides = contiguous_strides(sizes);
    if (folds_part(output)) std::fill_n(strides.begin() + (first - sizes.begin()), last - first, 0);
    if (member.by_rows && member.space == RowSpace::kFlatPart) sizes.erase(first, last);
    outputs_.push_back(Tensor::empty(sizes, kernel_.members[output].dtype));
    add_lay(outputs_.back(), strides);
  }
  return true;
}

// Before the lanes, what an output begins with; behind them, a mean.
void ComponentLoop::run_piece(int64_t piece) const {
  std::array<char*, FusedLoop::kMaxOperands> data;
  const int64_t first_lane = piece % pieces_ * piece_;
  const int64_t lanes = std::min(piece_, lanes_ - first_lane);
  for (size_t k = 0; k < lays_.size(); ++k) {
    const Lay& lay = lays_[k];
    data[k] = lay.data + first_lane * lay.lane + place_of(piece / pieces_, outer_, lay.outer);
  }
  const auto fold_of = [&](size_t i) {
    const uint32_t output = program_.outputs[i];
    return folds_part(output) ? program_.members[output].op->facts().fold : FoldKind::kNone;
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    begin_fold(fold_of(i), outputs_[i].dtype(), data[i], components_[i]);
  }
  const std::array<char*, FusedLoop::kMaxOperands> begins = data;
  for (int64_t row = 0; row < rows_; ++row) {
    for (size_t k = 0; row > 0 && k < lays_.size(); ++k) {
      data[k] = begins[k] + place_of(row, folded_, lays_[k].folded);
    }
    kernel_.stages.front().function(data.data(), nullptr, nullptr, lanes);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    finish_fold(fold_of(i), outputs_[i].dtype(), begins[i], components_[i],
                static_cast<double>(rows_ * lanes_));
  }
}

bool ComponentLoop::run(std::span<IValue> results) {
  if (!find_shape() || !find_whole_values() || !make_outputs() || !find_inputs()) return false;
  int64_t count = pieces_;
  for (const int64_t size : outer_) count *= size;
  const int64_t elements = rows_ * piece_ * static_cast<int64_t>(program_.components);
  parallel_for(0, count, std::max<int64_t>(1, kernel_.grain / elements),
               [&](int64_t begin, int64_t end) {
                 for (int64_t piece = begin; piece < end; ++piece) run_piece(piece);
               });
  for (size_t i = 0; i < outputs_.size(); ++i) results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
