#include "tierup/runtime/plan.h"

#include <fmt/format.h>

#include "tierup/runtime/failure_text.h"

namespace tierup::runtime {

std::string_view step_kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::kOp: return "op";
    case StepKind::kMove: return "move";
    case StepKind::kDrop: return "drop";
    case StepKind::kJump: return "jump";
    case StepKind::kJumpIfFalse: return "jump_if_false";
    case StepKind::kLoopEnter: return "loop_enter";
    case StepKind::kLoopTest: return "loop_test";
    case StepKind::kLoopNext: return "loop_next";
    case StepKind::kReturn: return "return";
    case StepKind::kListConstruct: return "list";
    case StepKind::kListUnpack: return "unpack_list";
    case StepKind::kTupleConstruct: return "tuple";
    case StepKind::kTupleUnpack: return "unpack_tuple";
    case StepKind::kTupleIndex: return "tuple_index";
    case StepKind::kTupleSlice: return "tuple_slice";
    case StepKind::kDictConstruct: return "dict";
    case StepKind::kCreateObject: return "create_object";
    case StepKind::kGetAttr: return "get_attr";
    case StepKind::kSetAttr: return "set_attr";
    case StepKind::kCall: return "call";
    case StepKind::kCallMethod: return "call_method";
    case StepKind::kPushEntered: return "push_entered";
    case StepKind::kPopEntered: return "pop_entered";
    case StepKind::kFork: return "fork";
    case StepKind::kWait: return "wait";
    case StepKind::kRaise: return "raise";
    case StepKind::kUninitialized: return "uninitialized";
    case StepKind::kIsInstance: return "is_instance";
    case StepKind::kEnumName: return "enum_name";
    case StepKind::kEnumValue: return "enum_value";
    case StepKind::kToList: return "to_list";
    case StepKind::kModuleIndex: return "module_index";
    case StepKind::kPrint: return "print";
    case StepKind::kTrap: return "trap";
  }
  return "?";
}

namespace {

bool has_target(StepKind kind) {
  return kind == StepKind::kJump || kind == StepKind::kJumpIfFalse || kind == StepKind::kLoopTest ||
         kind == StepKind::kLoopNext;
}

// What a step does beyond its kind: the operator, the callee, the attribute.
std::string note_of(const Step& step, const ir::Node* origin) {
  switch (step.kind) {
    case StepKind::kOp: return origin != nullptr ? origin->display_name() : std::string();
    case StepKind::kCall: return step.data.site->callee->name();
    case StepKind::kCallMethod: return step.data.site->name;
    case StepKind::kGetAttr:
    case StepKind::kSetAttr: return step.data.detail->text;
    case StepKind::kTupleIndex: return std::to_string(static_cast<int32_t>(step.target));
    default: return {};
  }
}

}  // namespace

std::string Plan::to_string() const {
  std::string text = fmt::format("plan {}: {} constants, {} parameters, {} slots\n", name(),
                                 constants_.size(), param_count_, slot_count_);
  for (size_t i = 0; i < constants_.size(); ++i) {
    text += fmt::format("  s{} = {}\n", i, describe_value(constants_[i]));
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    text += fmt::format("{:5}: {}", i, step_kind_name(step.kind));
    const std::string note = note_of(step, origins_[i]);
    if (!note.empty()) text += " " + note;
    if (step.output_count > 0) text += fmt::format(" s{}", step.output);
    if (step.output_count > 1) text += fmt::format("..s{}", step.output + step.output_count - 1);
    if (step.input_count > 0) text += " <-";
    for (uint32_t k = 0; k < step.input_count; ++k) {
      const Operand operand = operands_[step.input_begin + k];
      // An exclamation mark: its last use.
      text += fmt::format(" s{}{}", static_cast<uint32_t>(operand.slot),
                          operand.is_last_use != 0 ? "!" : "");
    }
    if (has_target(step.kind)) text += fmt::format(" -> {}", step.target);
    text += '\n';
  }
  for (const auto& body : bodies_) text += body->to_string();
  return text;
}

size_t Plan::trim_frames() const {
  size_t freed = frames_.trim();
  for (const auto& body : bodies_) freed += body->trim_frames();
  return freed;
}

size_t Plan::kept_frames() const {
  size_t kept = frames_.kept();
  for (const auto& body : bodies_) kept += body->kept_frames();
  return kept;
}

}  // namespace tierup::runtime
