#include "tierup/analysis/effects.h"

#include <algorithm>
#include <string_view>

#include "tierup/ir/operator.h"

namespace tierup::analysis {
namespace {

bool is_statistics(const ir::Argument& argument) {
  return argument.name == "running_mean" || argument.name == "running_var";
}

const IValue* constant_of(const ir::Value* value) {
  const ir::Node* node = value->node();
  if (node == nullptr || !node->is(ir::NodeKind::kConstant)) return nullptr;
  return &node->attr<IValue>(ir::AttrName::kValue);
}

// Whether the node is a norm that is known to leave its running statistics alone.
bool keeps_statistics(const ir::Node& node) {
  const auto& arguments = node.op()->schema().arguments;
  const size_t count = std::min(arguments.size(), node.inputs().size());
  bool has_statistics = false;
  for (size_t i = 0; i < count; ++i) {
    const IValue* constant = constant_of(node.input(i));
    if (is_statistics(arguments[i])) {
      if (constant != nullptr && constant->is_none()) return true;
      has_statistics = true;
    }
    const bool is_switch =
        arguments[i].name == "training" || arguments[i].name == "use_input_stats";
    if (is_switch && has_statistics && constant != nullptr && constant->is_bool()) {
      return !constant->to_bool();
    }
  }
  return false;
}

// Whether this argument, if it is a constant, keeps the operator from drawing.
bool switches_off(const ir::Argument& argument, const ir::Value* value) {
  const IValue* found = constant_of(value);
  if (found == nullptr) return false;
  const IValue& constant = *found;
  if (argument.name == "train" || argument.name == "training") {
    return constant.is_bool() && !constant.to_bool();
  }
  const bool probability = argument.name == "dropout_p" || argument.name == "dropout";
  return probability && constant.is_float() && constant.to_float() == 0;
}

}  // namespace

uint8_t effects_of(const ir::Node& node) {
  if (!node.is(ir::NodeKind::kOp)) return ir::kNoEffect;
  uint8_t effects = node.op()->effects();
  if ((effects & ir::kSideEffect) != 0 && keeps_statistics(node)) {
    effects &= static_cast<uint8_t>(~unsigned{ir::kSideEffect});
  }
  if ((effects & ir::kRandom) == 0) return effects;
  const auto& arguments = node.op()->schema().arguments;
  const size_t count = std::min(arguments.size(), node.inputs().size());
  for (size_t i = 0; i < count; ++i) {
    if (switches_off(arguments[i], node.input(i))) {
      return effects & static_cast<uint8_t>(~unsigned{ir::kRandom});
    }
  }
  return effects;
}

bool writes_input(const ir::Node& node, size_t i) {
  const auto& arguments = node.op()->schema().arguments;
  if (i >= arguments.size()) return false;
  if (arguments[i].alias.is_write) return true;
  return is_statistics(arguments[i]) && (effects_of(node) & ir::kSideEffect) != 0;
}

bool only_makes_results(ir::NodeKind kind) {
  using ir::NodeKind;
  switch (kind) {
    case NodeKind::kConstant:
    case NodeKind::kListConstruct:
    case NodeKind::kListUnpack:
    case NodeKind::kTupleConstruct:
    case NodeKind::kTupleUnpack:
    case NodeKind::kTupleIndex:
    case NodeKind::kTupleSlice:
    case NodeKind::kDictConstruct:
    case NodeKind::kCreateObject:
    case NodeKind::kGetAttr:
    case NodeKind::kUncheckedCast:
    case NodeKind::kUninitialized:
    case NodeKind::kIsInstance:
    case NodeKind::kEnumName:
    case NodeKind::kEnumValue:
    case NodeKind::kToList:
    case NodeKind::kModuleIndex: return true;
    default: return false;
  }
}

bool is_strict_fusion(const ir::Value* object) {
  return object->type()->is(TypeKind::kClass) &&
         object->type()->as_class()->name() == "__torch__.torch.jit.strict_fusion";
}

bool is_region_mark(const ir::Node& node) {
  const bool is_mark = node.is(ir::NodeKind::kEnter) || node.is(ir::NodeKind::kExit);
  return is_mark && is_strict_fusion(node.input());
}

}  // namespace tierup::analysis
