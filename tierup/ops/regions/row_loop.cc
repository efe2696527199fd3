#include "tierup/ops/regions/row_loop.h"

#include <algorithm>

#include "tierup/base/parallel.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/row_tile.h"
#include "tierup/ops/regions/space_shape.h"

namespace tierup::ops {
namespace {

constexpr int64_t kTileElements = 16384;
constexpr size_t kMaxRank = 64;

// What is no operator's answer to its arguments, and would only be met again by the twin.
bool stops_a_run(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kOutOfMemory;
}

}  // namespace

RowLoop::RowLoop(const CompiledGroup& kernel, const GroupProgram& program,
                 const std::vector<InputUse>& uses, std::span<IValue> inputs)
    : kernel_(kernel), program_(program), uses_(uses) {
  for (const IValue& input : inputs) inputs_.push_back(input.to_tensor());
}

// Before the shape, to which they belong.
bool RowLoop::find_look_ups() {
  for (uint32_t i = 0; i < program_.members.size(); ++i) {
    const GroupMember& member = program_.members[i];
    if (member.looks_up == LookUpKind::kNone) continue;
    const LookUpArguments call = look_up_arguments(member);
    std::optional<LookUp> how =
        look_up_of(member.looks_up, inputs_[call.table], inputs_[call.index], call.dim);
    if (!how) return false;
    look_ups_[i].how = *std::move(how);
  }
  return true;
}

// The space: that of the inputs and look-ups, broadcast.
bool RowLoop::find_shape() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (uses_[i] == InputUse::kLookedUp) continue;
    is_dense_ = is_dense_ && inputs_[i].is_contiguous();
    if (uses_[i] == InputUse::kWide && !widen(shape_, inputs_[i].sizes())) return false;
  }
  for (const auto& [member, look_up] : look_ups_) {
    if (!widen(shape_, look_up.how.table.sizes())) return false;
  }
  if (shape_.size() <= program_.row_rank || shape_.size() > kMaxRank) return false;
  if (program_.rank != 0 && shape_.size() != program_.rank) return false;
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] == 0) return false;
    const bool is_outer = d < outer_rank();
    (is_outer ? rows_ : width_) *= shape_[d];
    if (shape_[d] > 1) (is_outer ? outer_dims_ : row_dims_) |= uint64_t{1} << d;
  }
  return true;
}

// Whether kernels read its rows in place: it has all elements of a row, side by side.
bool RowLoop::has_dense_rows(const Tensor& tensor, const Extent& extent) const {
  if ((extent.dims & row_dims_) != row_dims_) return false;
  int64_t step = 1;
  const IntSpan sizes = tensor.sizes();
  for (size_t d = sizes.size(), left = program_.row_rank; d-- > 0 && left-- > 0;) {
    if (sizes[d] == 1) continue;
    if (tensor.strides()[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

// From row to row, if that is the same everywhere; else -1.
int64_t RowLoop::step_of(const IntVector& strides) const {
  int64_t step = 0;
  int64_t next = -1;  // What the stride of the next dimension must be.
  for (size_t d = outer_rank(); d-- > 0;) {
    if (shape_[d] == 1) continue;
    if (next < 0) step = strides[d];
    if (next >= 0 && strides[d] != next) return -1;
    next = strides[d] * shape_[d];
  }
  return step;
}

// Where a tensor varies, and its strides from row to row.
bool RowLoop::place_in_space(const Tensor& tensor, Extent& extent, Lay& lay) const {
  const IntSpan sizes = tensor.sizes();
  lay.strides.assign(outer_rank(), 0);
  lay.row_strides.assign(program_.row_rank, 0);
  const size_t end = extent.is_flat ? outer_rank() : shape_.size();  // Where the last one stands.
  extent.rank = sizes.size();
  if (sizes.size() > end) return false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const size_t place = end - sizes.size() + d;
    if (sizes[d] == 1) continue;
    if (sizes[d] != shape_[place]) return false;
    extent.dims |= uint64_t{1} << place;
    if (place < outer_rank())
      lay.strides[place] = tensor.strides()[d];
    else
      lay.row_strides[place - outer_rank()] = tensor.strides()[d];
  }
  lay.step = step_of(lay.strides);
  lay.has_dense_rows = !is_wide(extent) || has_dense_rows(tensor, extent);
  return true;
}

bool RowLoop::find_extent(size_t input) {
  const Tensor& tensor = inputs_[input];
  Extent extent{0, 0, uses_[input] == InputUse::kFlat};
  Lay lay;
  if (uses_[input] != InputUse::kLookedUp && !place_in_space(tensor, extent, lay)) return false;
  input_extents_.push_back(extent);
  lays_.push_back(std::move(lay));
  return true;
}

bool RowLoop::find_extent(RowLookUp& look_up) {
  Extent extent;
  Lay lay;
  if (!place_in_space(look_up.how.table, extent, lay)) return false;
  const IntVector sizes = sizes_of(is_wide(extent) ? RowSpace::kFull : RowSpace::kColumn);
  look_up.source.emplace(look_up.how.table, sizes, &look_up.how, &look_up.how.index);
  member_extents_.push_back(extent);
  return true;
}

bool RowLoop::find_extents() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!find_extent(i)) return false;
  }
  for (uint32_t i = 0; i < program_.members.size(); ++i) {
    const GroupMember& member = program_.members[i];
    if (const auto look_up = look_ups_.find(i); look_up != look_ups_.end()) {
      if (!find_extent(look_up->second)) return false;
      continue;
    }
    Extent extent{0, 0, member.space == RowSpace::kFlat};
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kConstant) continue;
      const Extent& of = this->extent(argument.source, argument.index);
      const bool has_dims = of.rank > 0;  // Numbers go with anything.
      if (!member.by_rows && has_dims && of.is_flat != extent.is_flat) return false;
      extent.dims |= of.dims;
      extent.rank = std::max(extent.rank, of.rank);
      if (member.by_rows) break;  // By its first argument alone.
    }
    if (member.by_rows) {
      if (!can_run_row_member(member)) return false;
      if (member.space != RowSpace::kFull) extent.dims &= outer_dims_;
      if (extent.is_flat) extent.rank = outer_rank();
    }
    member_extents_.push_back(extent);
  }
  return true;
}

// How many of a row's last dimensions lie side by side, or are one element.
size_t RowLoop::piece_rank_of(const Lay& lay) const {
  size_t rank = 0;
  int64_t width = 1;
  int64_t step = 1;  // What the next stride has to be for an element.
  for (size_t d = program_.row_rank; d-- > 0; ++rank) {
    const int64_t size = shape_[outer_rank() + d];
    if (size == 1) continue;
    const int64_t stride = lay.row_strides[d];
    if (width == 1) step = stride == 0 ? 0 : 1;
    if (stride != step * width) break;
    width *= size;
  }
  return rank;
}

// Of the inputs whose rows do not lie in one piece.
void RowLoop::find_pieces() {
  const auto has_dense_rows = [](const Lay& lay) { return lay.has_dense_rows; };
  if (std::ranges::all_of(lays_, has_dense_rows)) return;
  size_t rank = program_.row_rank;
  for (const Lay& lay : lays_) {
    if (!lay.has_dense_rows) rank = std::min(rank, piece_rank_of(lay));
  }
  const size_t first = program_.row_rank - rank;  // Of the dimensions of a piece.
  piece_width_ = 1;
  for (size_t d = first; d < program_.row_rank; ++d) piece_width_ *= shape_[outer_rank() + d];
  for (Lay& lay : lays_) {
    if (lay.has_dense_rows) continue;
    lay.piece_step = 0;
    for (size_t d = first; d < program_.row_rank; ++d) {
      if (lay.row_strides[d] != 0) lay.piece_step = 1;
    }
    for (int64_t piece = 0; piece < width_ / piece_width_; ++piece) {
      int64_t offset = 0;
      int64_t left = piece;
      for (size_t d = first; d-- > 0; left /= shape_[outer_rank() + d]) {
        offset += left % shape_[outer_rank() + d] * lay.row_strides[d];
      }
      lay.pieces.push_back(offset);
    }
  }
}

// It takes all rows, and parameters of a row's shape. Rows that lie in another order, each of them
// dense, and indices of rows, are brought together, unless the result might lie as they do: of
// elements that lie apart tier 0 adds up others first.
bool RowLoop::can_run_row_member(const GroupMember& member) const {
  for (size_t i = 0; i < member.arguments.size(); ++i) {
    const GroupArgument& argument = member.arguments[i];
    if (argument.source == GroupArgument::Source::kConstant) continue;
    const Extent& of = extent(argument.source, argument.index);
    const bool is_input = argument.source == GroupArgument::Source::kInput;
    const bool is_gathered = i == 0 && is_input && member.space != RowSpace::kFull && width_ > 1 &&
                             lays_[argument.index].has_dense_rows;
    const bool is_index = i > 0 && is_for_each_row(*member.op, i);
    const bool is_apart = is_input && !inputs_[argument.index].is_contiguous();
    if (is_apart && !is_gathered && !is_index) return false;
    if (i == 0) {
      if (of.is_flat || !has_all(of) || of.rank != shape_.size()) return false;
    } else if (is_index) {
      if (!is_input || of.dims != outer_dims_ || of.rank != shape_.size()) return false;
    } else if (!is_input ||
               !same_sizes(inputs_[argument.index].sizes(),
                           IntSpan(shape_.data(), shape_.size()).subspan(outer_rank()))) {
      return false;
    }
  }
  return true;
}

bool RowLoop::can_run_stage(const CompiledKernel& stage) const {
  const bool is_full = stage.space == RowSpace::kFull;
  // Over many short rows, a kernel for one element a row gives way to the general one behind it.
  const bool goes_over_rows = width_ < stage.short_run && rows_ * width_ >= kTileElements;
  for (const KernelInput& input : stage.inputs) {
    const Extent& of = extent(input.source, input.index);
    if ((input.uniform || !is_full) && is_wide(of)) return false;
    if (input.uniform && is_full && goes_over_rows && of.dims != 0) return false;
  }
  for (const uint32_t output : stage.outputs) {
    const Extent& of = member_extents_[output];
    if (of.dims != (is_full ? row_dims_ | outer_dims_ : outer_dims_)) return false;
  }
  return true;
}

// Whether the elements of each row lie one after another.
bool RowLoop::keeps_rows(const IntVector& sizes, const IntVector& strides) const {
  int64_t step = 1;
  for (size_t d = sizes.size(), left = program_.row_rank; d-- > 0 && left-- > 0;) {
    if (sizes[d] == 1) continue;
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

// Whether all results are laid out in order, as if their members had run alone on these inputs. In
// what leads to them, rows may lie in another order: what makes one number of a row, or one for
// each, leaves that behind.
bool RowLoop::gives_dense_results() const {
  SmallVector<Tensor, 16> members;
  for (const GroupMember& member : program_.members) {
    const auto index = static_cast<uint32_t>(members.size());
    const auto look_up = look_ups_.find(index);
    if (look_up != look_ups_.end()) {
      const IntSpan looked = look_up->second.how.table.sizes();
      members.push_back(meta_tensor(looked));
      continue;
    }
    IntVector sizes;
    SmallVector<const Tensor*, 4> operands;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kConstant) continue;
      const bool is_input = argument.source == GroupArgument::Source::kInput;
      operands.push_back(is_input ? &inputs_[argument.index] : &members[argument.index]);
      sizes = broadcast_shapes(sizes, operands.back()->sizes());
    }
    if (member.by_rows) sizes = sizes_of(member.space);
    const IntVector dense = contiguous_strides(sizes);
    if (member.by_rows) {
      if (member.space == RowSpace::kFull && !operands[0]->is_contiguous()) return false;
      members.push_back(meta_tensor(sizes, dense, ScalarType::kFloat));
      continue;
    }
    const IntVector strides = kernels::pointwise_strides(sizes, operands);
    members.push_back(meta_tensor(sizes, strides, ScalarType::kFloat));
    if (same_sizes(strides, dense)) continue;
    const bool is_output = std::find(program_.outputs.begin(), program_.outputs.end(), index) !=
                           program_.outputs.end();
    if (is_output || !keeps_rows(sizes, strides)) return false;
  }
  return true;
}

IntVector RowLoop::sizes_of(RowSpace space) const {
  IntVector sizes = shape_;
  const auto rows = sizes.begin() + static_cast<ptrdiff_t>(outer_rank());
  if (space == RowSpace::kFlat) sizes.resize(outer_rank());
  if (space == RowSpace::kColumn) std::fill(rows, sizes.end(), 1);
  return sizes;
}

void RowLoop::make_outputs(bool one_tile) {
  output_of_.assign(program_.members.size(), -1);
  for (const uint32_t member : program_.outputs) {
    output_of_[member] = static_cast<int>(outputs_.size());
    // In one tile, what a row member gives is the output.
    const bool is_made = !(one_tile && program_.members[member].by_rows);
    outputs_.push_back(
        is_made ? Tensor::empty(sizes_of(space_of(member)), kernel_.members[member].dtype)
                : Tensor());
  }
}

int64_t RowLoop::offset_of(const Lay& lay, int64_t row) const {
  if (lay.step >= 0) return row * lay.step;
  int64_t offset = 0;
  for (size_t d = lay.strides.size(); d-- > 0;) {
    if (shape_[d] == 1) continue;
    offset += row % shape_[d] * lay.strides[d];
    row /= shape_[d];
  }
  return offset;
}

bool RowLoop::run(OpCall& call) {
  if (!find_look_ups() || !find_shape() || !find_extents()) return false;
  for (const CompiledKernel& stage : kernel_.stages) {
    if (!can_run_stage(stage)) return false;
  }
  if (!is_dense_ && !gives_dense_results()) return false;
  for (const uint32_t output : program_.outputs) {
    const Extent& of = member_extents_[output];
    const uint64_t row_part = of.dims & row_dims_;
    const bool covers =
        (of.dims & outer_dims_) == outer_dims_ && (row_part == 0 || row_part == row_dims_);
    if (!covers || of.rank != (of.is_flat ? outer_rank() : shape_.size())) return false;
  }
  const int64_t tile = std::max<int64_t>(1, kTileElements / width_);
  const int64_t grain = std::max(tile, kernel_.grain / width_);
  find_pieces();
  make_outputs(rows_ <= tile);
  try {
    parallel_for(0, rows_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t first = begin; first < end; first += tile) {
        Tile(*this, call.context, first, std::min(tile, end - first)).run();
      }
    });
  } catch (const Error& error) {
    if (stops_a_run(error.code())) throw;
    return false;  // Of a tile; the twin says what tier 0 would.
  }
  for (size_t i = 0; i < outputs_.size(); ++i) call.results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
