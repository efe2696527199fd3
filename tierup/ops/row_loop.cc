#include "tierup/ops/row_loop.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tierup/base/parallel.h"
#include "tierup/ops/fused_loop.h"

namespace tierup::ops {
namespace {

constexpr int64_t kTileElements = 16384;

bool same_sizes(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

// The values of one tile.
class RowLoop::Tile {
 public:
  Tile(const RowLoop& loop, RunContext& context, int64_t first, int64_t rows)
      : loop_(loop),
        context_(context),
        first_(first),
        rows_(rows),
        values_(loop.program_.members.size()) {}

  void run() {
    const CompiledGroup& kernel = loop_.kernel_;
    for (size_t s = 0; s < kernel.stages.size(); ++s) {
      for (const uint32_t member : kernel.rows[s]) run_row_member(member);
      if (kernel.stages[s].function != nullptr) run_stage(kernel.stages[s]);
    }
  }

 private:
  IntVector tile_sizes(Spread spread) const {
    switch (spread) {
      case Spread::kFull: return {rows_, loop_.width_};
      case Spread::kColumn: return {rows_, 1};
      case Spread::kRow: return {loop_.width_};
      default: return {};
    }
  }

  // The rows of this tile in a tensor of all rows.
  Tensor rows_of(const Tensor& whole, Spread spread) const {
    const IntVector sizes = tile_sizes(spread);
    const int64_t per_row =
        spread == Spread::kFull ? loop_.width_ : (spread == Spread::kColumn ? 1 : 0);
    return Tensor::from_storage(whole.storage(), whole.dtype(), sizes, contiguous_strides(sizes),
                                whole.offset() + first_ * per_row);
  }

  Tensor value_of(GroupArgument::Source source, uint32_t index) const {
    return source == GroupArgument::Source::kInput
               ? rows_of(*loop_.inputs_[index], loop_.input_spreads_[index])
               : values_[index];
  }
  Spread spread_of(GroupArgument::Source source, uint32_t index) const {
    return source == GroupArgument::Source::kInput ? loop_.input_spreads_[index]
                                                   : loop_.member_spreads_[index];
  }

  void run_row_member(uint32_t index) {
    const GroupMember& member = loop_.program_.members[index];
    std::vector<IValue> arguments;
    for (const GroupArgument& argument : member.arguments) {
      arguments.push_back(argument.source == GroupArgument::Source::kConstant
                              ? argument.constant
                              : IValue(value_of(argument.source, argument.index)));
    }
    IValue result;
    OpCall call{arguments, {&result, 1}, context_};
    member.op->kernel()(call);
    values_[index] = result.to_tensor();
    const int output = loop_.output_of_[index];
    if (output < 0) return;
    const Tensor& whole = loop_.outputs_[static_cast<size_t>(output)];
    std::memcpy(rows_of(whole, loop_.member_spreads_[index]).raw(), values_[index].raw(),
                values_[index].bytes());
  }

  void run_stage(const CompiledKernel& stage) {
    KernelRun plan{&stage, stage.outputs.size(), stage.outputs.size() + stage.inputs.size(), {}};
    std::array<char*, FusedLoop::kMaxOperands> pointers;
    std::array<int64_t, FusedLoop::kMaxOperands> inner;  // Bytes from element to element...
    std::array<int64_t, FusedLoop::kMaxOperands> outer;  // ...and from row to row.
    const auto set = [&](size_t k, const Tensor& tensor, Spread spread) {
      const auto item = static_cast<int64_t>(tensor.item_size());
      plan.widths[k] = item;
      pointers[k] = static_cast<char*>(tensor.raw());
      inner[k] = spread == Spread::kFull || spread == Spread::kRow ? item : 0;
      outer[k] =
          spread == Spread::kFull ? item * loop_.width_ : (spread == Spread::kColumn ? item : 0);
    };
    for (size_t k = 0; k < stage.outputs.size(); ++k) {
      const uint32_t member = stage.outputs[k];
      values_[member] = make_value(member);
      set(k, values_[member], loop_.member_spreads_[member]);
    }
    for (size_t k = 0; k < stage.inputs.size(); ++k) {
      const KernelInput& input = stage.inputs[k];
      const Tensor value = value_of(input.source, input.index);
      set(stage.outputs.size() + k, value, spread_of(input.source, input.index));
    }
    for (int64_t row = 0; row < rows_; ++row) {
      plan.run(pointers.data(), inner.data(), loop_.width_);
      for (size_t k = 0; k < plan.operands; ++k) pointers[k] += outer[k];
    }
  }

  Tensor make_value(uint32_t member) const {
    const Spread spread = loop_.member_spreads_[member];
    const int output = loop_.output_of_[member];
    if (output >= 0) return rows_of(loop_.outputs_[static_cast<size_t>(output)], spread);
    return Tensor::empty(tile_sizes(spread), loop_.kernel_.members[member].dtype);
  }

  const RowLoop& loop_;
  RunContext& context_;
  int64_t first_;
  int64_t rows_;
  std::vector<Tensor> values_;
};

RowLoop::RowLoop(const CompiledGroup& kernel, const GroupProgram& program, std::span<IValue> inputs)
    : kernel_(kernel), program_(program) {
  for (const IValue& input : inputs) holders_.push_back(input.to_tensor());
  for (const Tensor& holder : holders_) inputs_.push_back(&holder);
}

// The shape of all rows: that of the inputs, broadcast.
bool RowLoop::find_shape() {
  for (const Tensor* input : inputs_) {
    if (!input->is_contiguous()) return false;
    if (input->dim() > static_cast<int64_t>(shape_.size()) ||
        (input->dim() == static_cast<int64_t>(shape_.size()) &&
         input->numel() > numel_of(shape_))) {
      shape_.assign(input->sizes().begin(), input->sizes().end());
    }
  }
  if (shape_.empty()) return false;
  width_ = shape_.back();
  const int64_t elements = numel_of(shape_);
  if (elements == 0) return false;
  rows_ = elements / width_;
  return true;
}

RowLoop::Spread RowLoop::joined(Spread a, Spread b) {
  if (a == b) return a;
  if (a == Spread::kSingle) return b;
  if (b == Spread::kSingle) return a;
  return Spread::kFull;
}

bool RowLoop::find_spreads() {
  IntVector column = shape_;
  column.back() = 1;
  for (const Tensor* input : inputs_) {
    const IntSpan sizes = input->sizes();
    if (same_sizes(sizes, shape_)) {
      input_spreads_.push_back(Spread::kFull);
    } else if (same_sizes(sizes, column)) {
      input_spreads_.push_back(Spread::kColumn);
    } else if (sizes.empty()) {
      input_spreads_.push_back(Spread::kSingle);
    } else if (sizes.size() == 1 && sizes[0] == width_ && shape_.size() > 1) {
      input_spreads_.push_back(Spread::kRow);
    } else {
      return false;
    }
  }
  for (const GroupMember& member : program_.members) {
    Spread spread = Spread::kSingle;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kConstant) continue;
      const Spread of = argument.source == GroupArgument::Source::kInput
                            ? input_spreads_[argument.index]
                            : member_spreads_[argument.index];
      spread = joined(spread, of);
    }
    // A row member takes all rows; what it gives has one element for each.
    if (member.by_rows && spread != Spread::kFull) return false;
    member_spreads_.push_back(member.by_rows ? Spread::kColumn : spread);
  }
  return true;
}

void RowLoop::make_outputs() {
  output_of_.assign(program_.members.size(), -1);
  for (const uint32_t member : program_.outputs) {
    IntVector sizes = shape_;
    if (member_spreads_[member] == Spread::kColumn) sizes.back() = 1;
    output_of_[member] = static_cast<int>(outputs_.size());
    outputs_.push_back(Tensor::empty(sizes, kernel_.members[member].dtype));
  }
}

bool RowLoop::run(OpCall& call) {
  if (!find_shape() || !find_spreads()) return false;
  for (const CompiledKernel& stage : kernel_.stages) {
    for (const KernelInput& input : stage.inputs) {
      const Spread spread = input.source == GroupArgument::Source::kInput
                                ? input_spreads_[input.index]
                                : member_spreads_[input.index];
      if (input.uniform && (spread == Spread::kFull || spread == Spread::kRow)) return false;
    }
    for (const uint32_t output : stage.outputs) {
      if (member_spreads_[output] != Spread::kFull) return false;
    }
  }
  for (const uint32_t output : program_.outputs) {
    const Spread spread = member_spreads_[output];
    if (spread != Spread::kFull && spread != Spread::kColumn) return false;
  }
  make_outputs();
  const int64_t tile = std::max<int64_t>(1, kTileElements / width_);
  const int64_t grain = std::max(tile, kernel_.grain / width_);
  parallel_for(0, rows_, grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += tile) {
      Tile(*this, call.context, first, std::min(tile, end - first)).run();
    }
  });
  for (size_t i = 0; i < outputs_.size(); ++i) call.results[i] = IValue(std::move(outputs_[i]));
  return true;
}

}  // namespace tierup::ops
