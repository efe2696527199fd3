#include "tierup/codegen/group_stages.h"

#include <algorithm>

namespace tierup::codegen {
namespace {

using ops::CompiledKernel;
using ops::GroupArgument;
using ops::GroupMember;
using ops::RowSpace;

class StageMaker {
 public:
  StageMaker(const ops::GroupProgram& program, const std::vector<bool>& uniform,
             const std::vector<bool>& single, Columns columns)
      : program_(program),
        uniform_(uniform),
        single_(single),
        columns_(columns),
        stored_(program.members.size(), false) {}

  std::vector<CompiledKernel> run() {
    for (const GroupMember& member : program_.members) {
      levels_.push_back(level_of(member));
      spaces_.push_back(space_of(member));
    }
    for (const uint32_t output : program_.outputs) stored_[output] = true;
    for (const GroupMember& member : program_.members) {
      if (!member.by_rows) continue;
      for (const GroupArgument& argument : member.arguments) {
        if (argument.source == GroupArgument::Source::kMember) stored_[argument.index] = true;
      }
    }
    const uint32_t last = *std::max_element(levels_.begin(), levels_.end());
    for (uint32_t level = 0; level <= last; ++level) add_level(level);
    return std::move(stages_);
  }

 private:
  uint32_t level_of(const GroupMember& member) const {
    uint32_t level = 0;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kMember) {
        level = std::max(level, levels_[argument.index]);
      }
    }
    return level + (member.by_rows ? 1 : 0);
  }

  // What a member is expected to have for each row.
  RowSpace space_of(const GroupMember& member) const {
    if (goes_by_rows(member) || member.space == RowSpace::kFlat) return member.space;
    for (const GroupArgument& argument : member.arguments) {
      const bool is_wide =
          (argument.source == GroupArgument::Source::kInput && !uniform_[argument.index]) ||
          (argument.source == GroupArgument::Source::kMember &&
           spaces_[argument.index] == RowSpace::kFull);
      if (is_wide) return RowSpace::kFull;
    }
    return RowSpace::kColumn;
  }

  // Row members stand before the level's first kernel.
  void add_level(uint32_t level) {
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < program_.members.size(); ++i) {
      if (goes_by_rows(program_.members[i]) && levels_[i] == level) rows.push_back(i);
    }
    for (const RowSpace space : {RowSpace::kFull, RowSpace::kColumn, RowSpace::kFlat}) {
      CompiledKernel stage;
      stage.space = space;
      for (uint32_t i = 0; i < program_.members.size(); ++i) {
        if (!goes_by_rows(program_.members[i]) && stored_[i] && levels_[i] == level &&
            spaces_[i] == space) {
          stage.outputs.push_back(i);
        }
      }
      const bool is_last_chance = space == RowSpace::kFlat && !rows.empty();
      if (stage.outputs.empty() && !is_last_chance) continue;
      stage.rows = std::exchange(rows, {});
      visited_.assign(program_.members.size(), false);
      for (const uint32_t output : stage.outputs) collect(output, level, stage);
      stages_.push_back(std::move(stage));
    }
  }

  // The leaves of a member's expression.
  void collect(uint32_t member, uint32_t level, CompiledKernel& stage) {
    if (visited_[member]) return;
    visited_[member] = true;
    for (const GroupArgument& argument : program_.members[member].arguments) {
      if (argument.source == GroupArgument::Source::kConstant) continue;
      const bool is_input = argument.source == GroupArgument::Source::kInput;
      if (!is_input && !is_leaf(argument.index, level)) {
        collect(argument.index, level, stage);
        continue;
      }
      const bool is_over_row = stage.space == RowSpace::kFull && columns_ == Columns::kUniform;
      const bool uniform = is_input ? (is_over_row ? uniform_ : single_)[argument.index]
                                    : is_over_row && spaces_[argument.index] != RowSpace::kFull;
      const bool known =
          std::any_of(stage.inputs.begin(), stage.inputs.end(), [&](const ops::KernelInput& input) {
            return input.source == argument.source && input.index == argument.index;
          });
      if (!known) stage.inputs.push_back({argument.source, argument.index, uniform});
    }
  }
  bool is_leaf(uint32_t member, uint32_t level) const {
    return goes_by_rows(program_.members[member]) || (stored_[member] && levels_[member] < level);
  }
  // Not by a kernel.
  static bool goes_by_rows(const GroupMember& member) {
    return member.by_rows || member.looks_up != ops::LookUpKind::kNone;
  }

  const ops::GroupProgram& program_;
  const std::vector<bool>& uniform_;  // Of a row.
  const std::vector<bool>& single_;   // Of everything.
  Columns columns_;
  std::vector<uint32_t> levels_;
  std::vector<RowSpace> spaces_;
  std::vector<bool> stored_;
  std::vector<bool> visited_;
  std::vector<CompiledKernel> stages_;
};

}  // namespace

std::vector<CompiledKernel> stages_of(const ops::GroupProgram& program,
                                      const std::vector<bool>& uniform,
                                      const std::vector<bool>& single, Columns columns) {
  if (std::any_of(program.members.begin(), program.members.end(),
                  [](const GroupMember& member) { return member.by_rows; })) {
    return StageMaker(program, uniform, single, columns).run();
  }
  CompiledKernel stage;
  stage.outputs = program.outputs;
  // Loads are found when kernels are built.
  if (const size_t parts = join_parts_of(program); parts > 0) return {parts, stage};
  if (reads_loads(program)) return {stage};
  // The kernel reads every input, in order.
  for (uint32_t i = 0; i < program.input_count; ++i) {
    stage.inputs.push_back({GroupArgument::Source::kInput, i, uniform[i]});
  }
  return {stage};
}

}  // namespace tierup::codegen
