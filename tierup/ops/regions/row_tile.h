// RowLoop::Tile: some rows of a group, on which its stages run one after another; see row_loop.h.
// For row_loop.cc alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "tierup/kernels/shape/view.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/row_loop.h"

namespace tierup::ops {

// The values of one tile.
class RowLoop::Tile {
 public:
  Tile(RowLoop& loop, RunContext& context, int64_t first, int64_t rows)
      : loop_(loop),
        context_(context),
        first_(first),
        rows_(rows),
        values_(loop.program_.members.size()),
        brought_(loop.inputs_.size()) {}

  void run() {
    for (const CompiledKernel& stage : loop_.kernel_.stages) {
      for (const uint32_t member : stage.rows) {
        const auto look_up = loop_.look_ups_.find(member);
        look_up == loop_.look_ups_.end() ? run_row_member(member)
                                         : run_look_up(member, look_up->second);
      }
      if (stage.function == nullptr) continue;
      stage.space == RowSpace::kFull ? run_stage(stage) : run_narrow_stage(stage);
    }
  }

 private:
  bool is_whole() const { return rows_ == loop_.rows_; }

  IntVector tile_sizes(RowSpace space) const {
    if (is_whole()) return loop_.sizes_of(space);
    IntVector sizes{rows_};
    if (space == RowSpace::kFlat) return sizes;
    for (size_t d = loop_.outer_rank(); d < loop_.shape_.size(); ++d) {
      sizes.push_back(space == RowSpace::kFull ? loop_.shape_[d] : 1);
    }
    return sizes;
  }

  // The rows of this tile in a dense tensor of all rows.
  Tensor rows_of(const Tensor& whole, RowSpace space) const {
    if (is_whole()) return whole;
    const IntVector sizes = tile_sizes(space);
    const int64_t per_row = space == RowSpace::kFull ? loop_.width_ : 1;
    return Tensor::from_storage(whole.storage(), whole.dtype(), sizes, contiguous_strides(sizes),
                                whole.offset() + first_ * per_row);
  }

  // An argument of a row member: the rows of this tile, or a parameter.
  IValue argument_of(const GroupMember& member, size_t place) {
    const GroupArgument& argument = member.arguments[place];
    switch (argument.source) {
      case GroupArgument::Source::kConstant: return argument.on_rows();
      case GroupArgument::Source::kMember: return IValue(values_[argument.index]);
      case GroupArgument::Source::kInput: break;
    }
    const Tensor& input = loop_.inputs_[argument.index];
    if (place == 0 && !input.is_contiguous()) {
      const Tensor rows = together(argument.index);
      return IValue(kernels::reshape(rows, tile_sizes(RowSpace::kFull)));
    }
    if (place == 0) return IValue(rows_of(input, RowSpace::kFull));
    if (!is_for_each_row(*member.op, place)) return IValue(input);
    if (input.is_contiguous()) return IValue(rows_of(input, RowSpace::kColumn));
    const Tensor column = together(argument.index, RowSpace::kColumn);
    return IValue(kernels::reshape(column, tile_sizes(RowSpace::kColumn)));
  }

  void run_row_member(uint32_t index) {
    const GroupMember& member = loop_.program_.members[index];
    if (member.result > 0) return;  // Made with the first one.
    SmallVector<IValue, 8> arguments;
    for (size_t i = 0; i < member.arguments.size(); ++i) {
      arguments.push_back(argument_of(member, i));
    }
    SmallVector<IValue, 4> results;
    results.resize(results_of(loop_.program_, index));
    OpCall call{{arguments.data(), arguments.size()}, {results.data(), results.size()}, context_};
    member.op->kernel()(call);
    for (uint32_t i = 0; i < results.size(); ++i) {
      keep_rows(index + i, std::move(results[i]).to_tensor());
    }
  }

  void run_look_up(uint32_t member, const RowLookUp& look_up) {
    const RowSpace space = loop_.space_of(member);
    const int64_t per_row = space == RowSpace::kFull ? loop_.width_ : 1;
    values_[member] = make_value(member, space);
    const bool is_good = look_up.source->fill(static_cast<char*>(values_[member].raw()),
                                              first_ * per_row, rows_ * per_row);
    require(is_good, ErrorCode::kOutOfRange, "an index is out of range");
  }

  void keep_rows(uint32_t index, Tensor made) {
    const GroupMember& member = loop_.program_.members[index];
    values_[index] = std::move(made);
    const int output = loop_.output_of_[index];
    if (output < 0) return;
    Tensor& whole = loop_.outputs_[static_cast<size_t>(output)];
    if (is_whole()) {
      whole = values_[index];
      return;
    }
    std::memcpy(rows_of(whole, member.space).raw(), values_[index].raw(), values_[index].bytes());
  }

  // Where a kernel's input begins for a row of this tile; steps are those between its rows.
  struct Place {
    char* data = nullptr;
    int64_t item = 0;
    int64_t step = 0;
    int64_t input = -1;  // Set if there is no such step.
  };
  Place place_of(const KernelInput& input) const {
    if (input.source == GroupArgument::Source::kMember) {
      const Tensor& value = values_[input.index];
      const auto item = static_cast<int64_t>(value.item_size());
      const bool wide = loop_.space_of(input.index) == RowSpace::kFull;
      return {static_cast<char*>(value.raw()), item, item * (wide ? loop_.width_ : 1)};
    }
    const Tensor& tensor = loop_.inputs_[input.index];
    const int64_t step = loop_.lays_[input.index].step;
    const auto item = static_cast<int64_t>(tensor.item_size());
    Place place{static_cast<char*>(tensor.raw()), item, item * step};
    place.input = step < 0 ? int64_t{input.index} : -1;
    if (step >= 0) place.data += first_ * place.step;
    return place;
  }

  Tensor make_value(uint32_t member, RowSpace space) const {
    const int output = loop_.output_of_[member];
    if (output >= 0) return rows_of(loop_.outputs_[static_cast<size_t>(output)], space);
    return Tensor::empty(tile_sizes(space), loop_.kernel_.members[member].dtype);
  }

  // An input's elements of this tile, one after another.
  Tensor together(const KernelInput& input) {
    if (input.source == GroupArgument::Source::kInput) return together(input.index);
    const Tensor& tensor = values_[input.index];
    const Tensor rows = kernels::reshape(tensor, IntVector{rows_, tensor.numel() / rows_});
    const Tensor result = Tensor::empty(IntVector{rows_, loop_.width_}, tensor.dtype());
    BlockSource(rows, result.sizes(), nullptr, nullptr)
        .fill(static_cast<char*>(result.raw()), 0, result.numel());
    return result;
  }

  // Of the group: once, for whatever reads it.
  Tensor together(uint32_t input) {
    Tensor& kept = brought_[input];
    if (kept.defined()) return kept;
    const Tensor& tensor = loop_.inputs_[input];
    kept = Tensor::empty(IntVector{rows_, loop_.width_}, tensor.dtype());
    BlockSource(tensor, loop_.shape_, nullptr, nullptr)
        .fill(static_cast<char*>(kept.raw()), first_ * loop_.width_, kept.numel());
    return kept;
  }

  // An input of the group, an element for each row, one after another.
  Tensor together(uint32_t input, RowSpace space) const {
    const Tensor& tensor = loop_.inputs_[input];
    const Tensor result = Tensor::empty(IntVector{rows_}, tensor.dtype());
    BlockSource(tensor, loop_.sizes_of(space), nullptr, nullptr)
        .fill(static_cast<char*>(result.raw()), first_, rows_);
    return result;
  }

  // Over short rows, what does not lie as they do is brought together. Kernels read numbers that
  // are the same for a row from one place.
  bool gathers_for(const CompiledKernel& stage) const {
    return loop_.width_ < stage.short_run &&
           std::none_of(stage.inputs.begin(), stage.inputs.end(), [&](const KernelInput& input) {
             return input.uniform && loop_.extent(input.source, input.index).dims != 0;
           });
  }

  // What a kernel over full rows goes over.
  struct Operands {
    KernelRun plan;
    std::array<Place, FusedLoop::kMaxOperands> places;
    std::array<int64_t, FusedLoop::kMaxOperands> inner;       // From element to element.
    std::array<const Lay*, FusedLoop::kMaxOperands> apart{};  // Set if a row's pieces lie apart.
    SmallVector<Tensor, 4> gathered;
    bool is_dense = true;  // One run does all rows.
    bool is_whole = true;  // One run does a row.
  };

  // As they lie.
  Operands operands_of(const CompiledKernel& stage) {
    Operands of;
    of.plan = {&stage, stage.outputs.size(), stage.outputs.size() + stage.inputs.size(), {}, {}};
    for (size_t k = 0; k < of.plan.operands; ++k) {
      bool wide = true;
      if (k < of.plan.outputs) {
        Tensor& value = values_[stage.outputs[k]];
        value = make_value(stage.outputs[k], RowSpace::kFull);
        const auto item = static_cast<int64_t>(value.item_size());
        of.places[k] = {static_cast<char*>(value.raw()), item, item * loop_.width_};
      } else {
        const KernelInput& input = stage.inputs[k - of.plan.outputs];
        of.places[k] = place_of(input);
        wide = loop_.is_wide(loop_.extent(input.source, input.index));
        const bool is_input = input.source == GroupArgument::Source::kInput;
        if (is_input && !loop_.lays_[input.index].has_dense_rows) {
          of.apart[k] = &loop_.lays_[input.index];
        }
      }
      of.plan.widths[k] = of.places[k].item;
      of.inner[k] = wide ? of.places[k].item : 0;
    }
    return of;
  }

  // What kernels do not read as it lies, beside one another.
  void bring_together(const CompiledKernel& stage, Operands& of) {
    const bool gathers = gathers_for(stage);
    // A run begins with splats, which take as long as pieces of as many bytes.
    const int64_t piece_bytes = loop_.piece_width_ * static_cast<int64_t>(sizeof(float));
    const bool by_pieces = !gathers && piece_bytes >= kernels::kSplatBytes;
    const auto lies_dense = [&](size_t k) {
      return of.apart[k] == nullptr && of.places[k].input < 0 &&
             of.places[k].step == of.inner[k] * loop_.width_;
    };
    for (size_t k = 0; k < of.plan.operands; ++k) {
      Place& place = of.places[k];
      if ((gathers && !lies_dense(k)) || (of.apart[k] != nullptr && !by_pieces)) {
        of.gathered.push_back(together(stage.inputs[k - of.plan.outputs]));
        of.apart[k] = nullptr;
        of.inner[k] = place.item;
        place = {static_cast<char*>(of.gathered.back().raw()), place.item,
                 place.item * loop_.width_};
      } else if (of.apart[k] != nullptr) {
        of.inner[k] = of.apart[k]->piece_step * place.item;
        of.is_whole = false;
      }
      of.is_dense = of.is_dense && lies_dense(k);
    }
  }

  // Where an operand begins for a piece of a row.
  char* begin_of(const Operands& of, size_t k, int64_t row, int64_t piece) const {
    const Place& place = of.places[k];
    char* data = place.data;
    if (place.input < 0) {
      data += row * place.step;
    } else {
      const Lay& lay = loop_.lays_[static_cast<size_t>(place.input)];
      data += place.item * loop_.offset_of(lay, first_ + row);
    }
    if (of.apart[k] != nullptr) {
      return data + place.item * of.apart[k]->pieces[static_cast<size_t>(piece)];
    }
    return data + piece * loop_.piece_width_ * of.inner[k];
  }

  // All rows at once, row by row, or piece by piece.
  void run_stage(const CompiledKernel& stage) {
    Operands of = operands_of(stage);
    bring_together(stage, of);
    std::array<char*, FusedLoop::kMaxOperands> pointers;
    const int64_t width = of.is_whole ? loop_.width_ : loop_.piece_width_;
    const int64_t rows = of.is_dense ? 1 : rows_;
    const int64_t pieces = loop_.width_ / width;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        for (size_t k = 0; k < of.plan.operands; ++k) pointers[k] = begin_of(of, k, row, piece);
        of.plan.run(pointers.data(), of.inner.data(), of.is_dense ? rows_ * width : width);
      }
    }
  }

  // One run over the rows, of which each has one element.
  void run_narrow_stage(const CompiledKernel& stage) {
    KernelRun plan{&stage, stage.outputs.size(), stage.outputs.size() + stage.inputs.size(), {}};
    std::array<int64_t, FusedLoop::kMaxOperands> steps;
    std::array<char*, FusedLoop::kMaxOperands> pointers;
    SmallVector<Tensor, 4> gathered;
    for (size_t k = 0; k < plan.operands; ++k) {
      if (k < plan.outputs) {
        Tensor& value = values_[stage.outputs[k]];
        value = make_value(stage.outputs[k], stage.space);
        plan.widths[k] = static_cast<int64_t>(value.item_size());
        steps[k] = plan.widths[k];
        pointers[k] = static_cast<char*>(value.raw());
      } else {
        const KernelInput& input = stage.inputs[k - plan.outputs];
        Place place = place_of(input);
        if (place.input >= 0 || (place.step != 0 && place.step != place.item)) {
          gathered.push_back(together(input.index, stage.space));
          place = {static_cast<char*>(gathered.back().raw()), place.item, place.item};
        }
        plan.widths[k] = place.item;
        steps[k] = place.step;
        pointers[k] = place.data;
      }
    }
    plan.run(pointers.data(), steps.data(), rows_);
  }

  RowLoop& loop_;
  RunContext& context_;
  int64_t first_;
  int64_t rows_;
  SmallVector<Tensor, 16> values_;
  SmallVector<Tensor, 8> brought_;  // Inputs of the group brought together.
};

}  // namespace tierup::ops
