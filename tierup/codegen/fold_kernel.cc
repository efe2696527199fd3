#include "tierup/codegen/fold_kernel.h"

#include "tierup/ops/table/facts.h"

namespace tierup::codegen {
namespace {

using ops::FoldKind;

// A mean is a sum, which FoldLoop divides.
Fold fold_of(FoldKind kind) {
  switch (kind) {
    case FoldKind::kSum:
    case FoldKind::kMean: return Fold::kSum;
    case FoldKind::kLargest: return Fold::kLargest;
    case FoldKind::kSmallest: return Fold::kSmallest;
    case FoldKind::kNone: break;
  }
  return Fold::kNone;
}

}  // namespace

GroupKernel build_fold_kernel(const ops::GroupProgram& program,
                              const std::vector<ops::ValueForm>& inputs, const GroupForms& forms,
                              const std::vector<bool>& uniform, ops::CompiledKernel& stage) {
  stage.outputs = program.outputs;
  for (uint32_t i = 0; i < program.input_count; ++i) {
    stage.inputs.push_back({ops::GroupArgument::Source::kInput, i, uniform[i]});
  }
  std::vector<uint32_t> values;  // That are folded, or stored.
  std::vector<Fold> folds;
  for (const uint32_t output : program.outputs) {
    const ops::GroupMember& member = program.members[output];
    folds.push_back(member.by_rows ? fold_of(member.op->facts().fold) : Fold::kNone);
    const bool is_fold = folds.back() != Fold::kNone;
    const bool is_of_member =
        is_fold && member.arguments[0].source == ops::GroupArgument::Source::kMember;
    if (member.by_rows && !is_of_member) {
      GroupKernel none;
      none.refusal = ops::GroupRefusal::kOtherRows;
      return none;
    }
    values.push_back(is_fold ? member.arguments[0].index : output);
  }
  GroupKernel kernel = build_group_kernel(program, inputs, forms.members, stage.inputs, values);
  for (size_t i = 0; i < values.size(); ++i) {
    kernel.operands[i].element = *element_type_of(forms.members[program.outputs[i]].dtype);
  }
  for (OperandSpec& operand : kernel.operands) {
    if (operand.access == Access::kSplat) operand.access = Access::kContiguous;
  }
  kernel.folds = std::move(folds);
  return kernel;
}

}  // namespace tierup::codegen
