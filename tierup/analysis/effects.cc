#include "tierup/analysis/effects.h"

#include <algorithm>
#include <string_view>

#include "tierup/ir/operator.h"

namespace tierup::analysis {
namespace {

// Whether this argument, if it is a constant, keeps the operator from drawing.
bool switches_off(const ir::Argument& argument, const ir::Value* value) {
  const ir::Node* node = value->node();
  if (node == nullptr || !node->is(ir::NodeKind::kConstant)) return false;
  const auto& constant = node->attr<IValue>(ir::AttrName::kValue);
  if (argument.name == "train" || argument.name == "training") {
    return constant.is_bool() && !constant.to_bool();
  }
  const bool probability = argument.name == "dropout_p" || argument.name == "dropout";
  return probability && constant.is_float() && constant.to_float() == 0;
}

}  // namespace

uint8_t effects_of(const ir::Node& node) {
  if (!node.is(ir::NodeKind::kOp)) return ir::kNoEffect;
  const uint8_t effects = node.op()->effects();
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

bool is_strict_fusion(const ir::Value* object) {
  return object->type()->is(TypeKind::kClass) &&
         object->type()->as_class()->name() == "__torch__.torch.jit.strict_fusion";
}

bool is_region_mark(const ir::Node& node) {
  const bool is_mark = node.is(ir::NodeKind::kEnter) || node.is(ir::NodeKind::kExit);
  return is_mark && is_strict_fusion(node.input());
}

}  // namespace tierup::analysis
