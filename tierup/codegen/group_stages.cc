#include "tierup/codegen/group_stages.h"

#include <algorithm>

namespace tierup::codegen {
namespace {

using ops::GroupArgument;
using ops::GroupMember;

class StageMaker {
 public:
  StageMaker(const ops::GroupProgram& program, const std::vector<bool>& uniform)
      : program_(program), uniform_(uniform), stored_(program.members.size(), false) {}

  std::vector<GroupStage> run() {
    find_levels();
    for (const uint32_t output : program_.outputs) stored_[output] = true;
    for (const GroupMember& member : program_.members) {
      if (!member.by_rows) continue;
      for (const GroupArgument& argument : member.arguments) {
        if (argument.source == GroupArgument::Source::kMember) stored_[argument.index] = true;
      }
    }
    std::vector<GroupStage> stages(1 + *std::max_element(levels_.begin(), levels_.end()));
    for (uint32_t i = 0; i < program_.members.size(); ++i) {
      GroupStage& stage = stages[levels_[i]];
      if (program_.members[i].by_rows) {
        stage.rows.push_back(i);
      } else if (stored_[i]) {
        stage.outputs.push_back(i);
      }
    }
    for (size_t s = 0; s < stages.size(); ++s) {
      visited_.assign(program_.members.size(), false);
      for (const uint32_t output : stages[s].outputs) collect(output, s, stages[s]);
    }
    return stages;
  }

 private:
  void find_levels() {
    for (const GroupMember& member : program_.members) {
      uint32_t level = 0;
      for (const GroupArgument& argument : member.arguments) {
        if (argument.source == GroupArgument::Source::kMember) {
          level = std::max(level, levels_[argument.index]);
        }
      }
      levels_.push_back(level + (member.by_rows ? 1 : 0));
    }
  }

  // The leaves of a member's expression.
  void collect(uint32_t member, size_t level, GroupStage& stage) {
    if (visited_[member]) return;
    visited_[member] = true;
    for (const GroupArgument& argument : program_.members[member].arguments) {
      if (argument.source == GroupArgument::Source::kConstant) continue;
      const bool is_input = argument.source == GroupArgument::Source::kInput;
      if (!is_input && !is_leaf(argument.index, level)) {
        collect(argument.index, level, stage);
        continue;
      }
      const bool uniform =
          is_input ? uniform_[argument.index] : program_.members[argument.index].by_rows;
      const bool known =
          std::any_of(stage.inputs.begin(), stage.inputs.end(), [&](const ops::KernelInput& input) {
            return input.source == argument.source && input.index == argument.index;
          });
      if (!known) stage.inputs.push_back({argument.source, argument.index, uniform});
    }
  }
  bool is_leaf(uint32_t member, size_t level) const {
    return program_.members[member].by_rows || (stored_[member] && levels_[member] < level);
  }

  const ops::GroupProgram& program_;
  const std::vector<bool>& uniform_;
  std::vector<uint32_t> levels_;
  std::vector<bool> stored_;
  std::vector<bool> visited_;
};

}  // namespace

std::vector<GroupStage> stages_of(const ops::GroupProgram& program,
                                  const std::vector<bool>& uniform) {
  if (std::any_of(program.members.begin(), program.members.end(),
                  [](const GroupMember& member) { return member.by_rows; })) {
    return StageMaker(program, uniform).run();
  }
  // The kernel reads every input, in order.
  GroupStage stage;
  stage.outputs = program.outputs;
  for (uint32_t i = 0; i < program.input_count; ++i) {
    stage.inputs.push_back({GroupArgument::Source::kInput, i, uniform[i]});
  }
  return {stage};
}

}  // namespace tierup::codegen
