#include "tierup/ops/regions/fusion_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "tierup/ops/regions/component_loop.h"
#include "tierup/ops/regions/differentiable_graph.h"
#include "tierup/ops/regions/fold_loop.h"
#include "tierup/ops/regions/fused_loop.h"
#include "tierup/ops/regions/input_form.h"
#include "tierup/ops/regions/matrix_loop.h"
#include "tierup/ops/regions/row_loop.h"
#include "tierup/ops/table/facts.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

constexpr uint32_t kNoUse = UINT32_MAX;

// The inputs that each output depends on.
std::vector<std::vector<uint32_t>> find_support(const GroupProgram& program) {
  std::vector<std::vector<uint32_t>> of_members;
  for (const GroupMember& member : program.members) {
    std::vector<uint32_t> inputs;
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kInput) inputs.push_back(argument.index);
      if (argument.source != GroupArgument::Source::kMember) continue;
      const auto& more = of_members[argument.index];
      inputs.insert(inputs.end(), more.begin(), more.end());
    }
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    of_members.push_back(std::move(inputs));
  }
  std::vector<std::vector<uint32_t>> support;
  for (const uint32_t output : program.outputs) support.push_back(of_members[output]);
  return support;
}

std::vector<InputUse> find_uses(const GroupProgram& program) {
  std::vector<InputUse> uses(program.input_count + program.constants.size(), InputUse::kLookedUp);
  for (const GroupMember& member : program.members) {
    if (member.looks_up != LookUpKind::kNone) continue;
    const bool is_flat = !member.by_rows && member.space == RowSpace::kFlat;
    for (size_t i = 0; i < member.arguments.size(); ++i) {
      const GroupArgument& argument = member.arguments[i];
      if (argument.source != GroupArgument::Source::kInput) continue;
      InputUse& use = uses[argument.index];
      if (member.by_rows && i > 0 && !is_for_each_row(*member.op, i)) {
        if (use == InputUse::kLookedUp) use = InputUse::kParameter;
        continue;
      }
      if (use != InputUse::kFlat) use = is_flat ? InputUse::kFlat : InputUse::kWide;
    }
  }
  return uses;
}

// The indices behind the table become a list, as the operator takes them.
void list_indices(std::vector<IValue>& arguments) {
  std::vector<Tensor> indices;
  for (size_t i = 1; i < arguments.size(); ++i) {
    indices.push_back(arguments[i].is_none() ? Tensor() : arguments[i].to_tensor());
  }
  arguments.resize(1);
  arguments.emplace_back(make_tensor_list(std::move(indices)));
}

// The tensors before the dimension become a list, as the operator takes them.
void join_arguments(std::vector<IValue>& arguments) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i + 1 < arguments.size(); ++i) tensors.push_back(arguments[i].to_tensor());
  IValue dim = std::move(arguments.back());
  arguments.clear();
  arguments.emplace_back(make_tensor_list(std::move(tensors)));
  arguments.push_back(std::move(dim));
}

std::string short_name(const Op& op) {
  const std::string& name = op.schema().name;
  return name.substr(name.rfind(':') + 1);
}

std::string describe_member(const GroupProgram& program, uint32_t index) {
  const GroupMember& member = program.members[index];
  std::string text = short_name(*member.op);
  if (member.result > 0) text += fmt::format(".{}", member.result);
  text += "(";
  bool first = true;
  for (const GroupArgument& argument : member.arguments) {
    if (!first) text += ", ";
    first = false;
    switch (argument.source) {
      case GroupArgument::Source::kInput: text += fmt::format("%{}", argument.index); break;
      case GroupArgument::Source::kMember: text += fmt::format("#{}", argument.index); break;
      case GroupArgument::Source::kConstant:
        text += argument.constant.is_tensor() ? "tensor" : to_text(argument.constant);
    }
    if (!argument.is_viewed()) continue;
    for (const ViewStep& step : program.chains[argument.chain].steps) {
      text += "." + short_name(*step.op);
      if (step.part >= 0) text += fmt::format("[{}]", step.part);
    }
  }
  return text + ")";
}

}  // namespace

size_t results_of(const GroupProgram& program, uint32_t member) {
  size_t count = 1;
  while (member + count < program.members.size() &&
         program.members[member + count].result == count) {
    ++count;
  }
  return count;
}

size_t join_parts_of(const GroupProgram& program) {
  for (const GroupMember& member : program.members) {
    if (member.joins) return member.arguments.size() - 1;
  }
  return 0;
}

bool has_look_ups(const GroupProgram& program) {
  return std::any_of(program.members.begin(), program.members.end(), [](const GroupMember& member) {
    return member.looks_up != LookUpKind::kNone;
  });
}

bool has_products(const GroupProgram& program) {
  return std::any_of(program.members.begin(), program.members.end(),
                     [](const GroupMember& member) { return member.multiplies; });
}

bool folds_parts(const GroupProgram& program) {
  return std::any_of(program.members.begin(), program.members.end(), [](const GroupMember& member) {
    return member.by_rows && is_part(member.space);
  });
}

bool reads_loads(const GroupProgram& program) {
  return !program.chains.empty() || join_parts_of(program) > 0 || has_look_ups(program);
}

LookUpArguments look_up_arguments(const GroupMember& member) {
  const auto& arguments = member.arguments;
  switch (member.looks_up) {
    case LookUpKind::kEmbedding: return {arguments[1].index, arguments[0].index, 0};
    case LookUpKind::kIndex: {
      size_t place = 1;
      while (arguments[place].source == GroupArgument::Source::kConstant) ++place;
      return {arguments[place].index, arguments[0].index, static_cast<int64_t>(place) - 1};
    }
    default: return {arguments[2].index, arguments[0].index, arguments[1].constant.to_int()};
  }
}

FusionGroup::FusionGroup(GroupProgram program)
    : program_(std::move(program)),
      has_row_members_(std::any_of(program_.members.begin(), program_.members.end(),
                                   [](const GroupMember& member) { return member.by_rows; })),
      uses_(find_uses(program_)),
      support_(find_support(program_)),
      last_use_(program_.members.size(), kNoUse) {
  for (uint32_t i = 0; i < program_.members.size(); ++i) {
    for (const GroupArgument& argument : program_.members[i].arguments) {
      if (argument.source == GroupArgument::Source::kMember) last_use_[argument.index] = i;
    }
  }
  for (const uint32_t output : program_.outputs) last_use_[output] = kNoUse;
}

FusionGroup::~FusionGroup() = default;

void FusionGroup::install(CompiledMatrices kernels) {
  matrices_ = std::make_unique<const MatrixLoop>(program_, std::move(kernels));
}

void FusionGroup::install(CompiledFolds kernels) {
  folds_ = std::make_unique<const CompiledFolds>(std::move(kernels));
}

void FusionGroup::run(OpCall& call) const {
  TwinReason reason = kernel_count() > 0 ? TwinReason::kOtherInputs : TwinReason::kNotCompiled;
  const auto runs = [&](const std::vector<ValueForm>& forms, const auto& run) {
    if (!suits(forms, call)) return false;
    reason = TwinReason::kOtherShapes;
    if (!run()) return false;
    compiled_runs_.fetch_add(1, std::memory_order_relaxed);
    return true;
  };
  if (matrices_ && runs(matrices_->inputs(), [&] { return matrices_->run(call); })) return;
  const auto fold = [&] {
    FoldLoop loop(*folds_, program_, call.args.first(folds_->inputs.size()));
    const bool is_done = loop.run(call.results);
    if (loop.leaves_range()) reason = TwinReason::kOtherInputs;
    return is_done;
  };
  if (folds_ && runs(folds_->inputs, fold)) return;
  for (const CompiledGroup& kernel : kernels_) {
    if (runs(kernel.inputs, [&] { return run_kernel(kernel, call); })) return;
  }
  twin_calls_.count(reason);
  run_twin(call);
}

bool FusionGroup::suits(const std::vector<ValueForm>& forms, const OpCall& call) const {
  for (size_t i = 0; i < program_.input_count; ++i) {
    const TensorImpl* tensor = call.args[i].tensor_impl();
    if (tensor == nullptr || !is_plain(*tensor) || form_of(*tensor) != forms[i]) return false;
  }
  return true;
}

bool FusionGroup::run_kernel(const CompiledGroup& kernel, OpCall& call) const {
  if (!has_row_members_) {
    FusedLoop loop(kernel, program_, support_, call.args.first(kernel.inputs.size()));
    return loop.run(call.results);
  }
  if (program_.components > 0) {
    return ComponentLoop(kernel, program_, call.args.first(kernel.inputs.size())).run(call.results);
  }
  RowLoop loop(kernel, program_, uses_, call.args.first(kernel.inputs.size()));
  return loop.run(call);
}

void FusionGroup::run_twin(OpCall& call) const {
  std::vector<IValue> values(program_.members.size());
  std::vector<IValue> arguments;
  const auto input = [&](uint32_t index) {
    const uint32_t given = program_.input_count;
    return index < given ? call.args[index] : IValue(program_.constants[index - given]);
  };
  for (uint32_t i = 0; i < program_.members.size(); ++i) {
    const GroupMember& member = program_.members[i];
    if (member.result > 0) continue;
    arguments.clear();
    for (const GroupArgument& argument : member.arguments) {
      switch (argument.source) {
        case GroupArgument::Source::kInput: arguments.push_back(input(argument.index)); break;
        case GroupArgument::Source::kMember: arguments.push_back(values[argument.index]); break;
        case GroupArgument::Source::kConstant: arguments.push_back(argument.constant); break;
      }
      if (!argument.is_viewed()) continue;
      IValue& value = arguments.back();
      value = IValue(through_views(value.to_tensor(), program_.chains[argument.chain]));
    }
    for (const GroupArgument& argument : member.arguments) {
      if (argument.source == GroupArgument::Source::kMember && last_use_[argument.index] == i) {
        values[argument.index] = IValue();
      }
    }
    if (member.joins) join_arguments(arguments);
    if (member.looks_up == LookUpKind::kIndex) list_indices(arguments);
    OpCall inner{arguments, {&values[i], results_of(program_, i)}, call.context};
    member.op->kernel()(inner);
  }
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    call.results[i] = values[program_.outputs[i]];
  }
}

std::string FusionGroup::to_string() const {
  std::string text;
  for (uint32_t i = 0; i < program_.members.size(); ++i) {
    const bool is_output =
        std::find(program_.outputs.begin(), program_.outputs.end(), i) != program_.outputs.end();
    text += fmt::format("{}#{}{} = {}", i == 0 ? "" : "; ", i, is_output ? "!" : "",
                        describe_member(program_, i));
  }
  return text;
}

StepReport FusionGroup::step_report() const {
  return {"group", to_string(), compiled_runs(), twin_calls_.counts(), refusal_.text()};
}

FusionGroup& fusion_group_of(const IValue& capsule) {
  auto* group = capsule.is_capsule() ? dynamic_cast<FusionGroup*>(capsule.to_capsule()) : nullptr;
  require(group != nullptr, ErrorCode::kTypeError, "the last argument is no fusion group");
  return *group;
}

namespace {

void fusion_group(OpCall& call) {
  require(!call.args.empty(), ErrorCode::kInvalidArgument, "a fusion group without arguments");
  const FusionGroup& group = fusion_group_of(call.args.back());
  require(call.args.size() == group.program().input_count + 1 &&
              call.results.size() == group.program().outputs.size(),
          ErrorCode::kInvalidArgument, "a fusion group with arguments that are not its own");
  group.run(call);
}

constexpr OpRow kRows[] = {
    // The inputs, then the capsule that holds the group.
    {"tierup::fusion_group(...) -> ...", &fusion_group, ir::kNoEffect, nullptr,
     facts(Role::kFusionGroup)},
    {"tierup::differentiable_graph(...) -> ...", &differentiable_graph},
};

}  // namespace

std::span<const OpRow> fusion_rows() { return kRows; }

}  // namespace tierup::ops
