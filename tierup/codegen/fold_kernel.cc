#include "tierup/codegen/fold_kernel.h"

#include <optional>

#include "tierup/ops/table/facts.h"

namespace tierup::codegen {

using ops::FoldKind;

Fold kernel_fold(FoldKind kind) {
  switch (kind) {
    case FoldKind::kSum:
    case FoldKind::kMean: return Fold::kSum;
    case FoldKind::kLargest: return Fold::kLargest;
    case FoldKind::kSmallest: return Fold::kSmallest;
    default: return Fold::kNone;
  }
}

namespace {

bool folds_part(const ops::GroupMember& member) {
  return member.by_rows && ops::is_part(member.space);
}

std::vector<Fold> folds_of(const ops::GroupProgram& program) {
  std::vector<Fold> folds;
  for (const uint32_t output : program.outputs) {
    const ops::GroupMember& member = program.members[output];
    folds.push_back(folds_part(member) ? kernel_fold(member.op->facts().fold) : Fold::kNone);
  }
  return folds;
}

// What outputs fold, or are; none if one folds what no member made.
std::optional<std::vector<uint32_t>> stored_values(const ops::GroupProgram& program) {
  std::vector<uint32_t> values;
  for (const uint32_t output : program.outputs) {
    const ops::GroupMember& member = program.members[output];
    const ops::GroupArgument& folded = member.arguments[0];
    if (folds_part(member) && folded.source != ops::GroupArgument::Source::kMember) {
      return std::nullopt;
    }
    values.push_back(folds_part(member) ? folded.index : output);
  }
  return values;
}

GroupKernel refused() {
  GroupKernel none;
  none.refusal = ops::GroupRefusal::kOtherRows;
  return none;
}

// Sums may be wider than what they fold.
void set_folds(const ops::GroupProgram& program, const GroupForms& forms, GroupKernel& kernel) {
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    kernel.operands[i].element = *element_type_of(forms.members[program.outputs[i]].dtype);
  }
  kernel.folds = folds_of(program);
}

}  // namespace

GroupKernel build_component_fold(const ops::FusionGroup& group, const GroupForms& forms,
                                 ops::CompiledKernel& stage) {
  const ops::GroupProgram& program = group.program();
  stage.outputs = program.outputs;
  for (uint32_t i = 0; i < program.input_count; ++i) {
    ops::KernelInput input{ops::GroupArgument::Source::kInput, i, group.expected_still()[i]};
    input.components = group.expected_uniform()[i] ? 1 : program.components;
    stage.inputs.push_back(input);
  }
  const std::optional<std::vector<uint32_t>> values = stored_values(program);
  if (!values) return refused();
  GroupKernel kernel =
      build_component_kernel(program, forms, group.expected(), stage.inputs, *values);
  set_folds(program, forms, kernel);
  return kernel;
}

}  // namespace tierup::codegen
