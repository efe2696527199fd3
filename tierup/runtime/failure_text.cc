#include "tierup/runtime/failure_text.h"

#include <fmt/format.h>

namespace tierup::runtime {
namespace {

constexpr size_t kMaxText = 60;
constexpr size_t kMaxItems = 6;
constexpr int kMaxDepth = 3;  // Of lists in lists: one may hold itself.

std::string shortened(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + "...";
  return text;
}

std::string describe_at(const IValue& value, int depth);

std::string describe_items(const std::vector<IValue>& items, char open, char shut, int depth) {
  std::string text(1, open);
  if (depth >= kMaxDepth && !items.empty()) return text + "..." + shut;
  for (size_t i = 0; i < items.size() && i < kMaxItems; ++i) {
    if (i > 0) text += ", ";
    text += describe_at(items[i], depth + 1);
  }
  if (items.size() > kMaxItems) text += fmt::format(", ... {} items", items.size());
  return text + shut;
}

std::string describe_at(const IValue& value, int depth) {
  switch (value.tag()) {
    case IValue::Tag::kTensor: return value.to_tensor().describe();
    case IValue::Tag::kStr: return "'" + shortened(value.to_str()) + "'";
    case IValue::Tag::kList: return describe_items(value.to_list().items, '[', ']', depth);
    case IValue::Tag::kTuple: return describe_items(value.to_tuple().items, '(', ')', depth);
    case IValue::Tag::kNone:
    case IValue::Tag::kInt:
    case IValue::Tag::kFloat:
    case IValue::Tag::kBool:
    case IValue::Tag::kComplex:
    case IValue::Tag::kDevice: return shortened(to_text(value));
    case IValue::Tag::kObject: return value.to_object().type->name();
    default: return std::string(value.tag_name());
  }
}

std::string describe_operator(const ir::Node& node, const Step& step, const Plan& plan,
                              std::span<const IValue> inputs, const IValue* slots) {
  std::string text = fmt::format("in {} with (", node.op()->schema().to_string());
  const Operand* from = plan.operands().data() + step.input_begin;
  for (uint32_t i = 0; i < step.input_count; ++i) {
    if (i > 0) text += ", ";
    text += describe_value(i < inputs.size() ? inputs[i] : slots[from[i].slot]);
  }
  return text + ")";
}

const ir::Node* origin_of(const Plan& plan, const Step& step) {
  return plan.origin(static_cast<size_t>(&step - plan.steps().data()));
}

}  // namespace

std::string describe_value(const IValue& value) { return describe_at(value, 0); }

std::vector<std::string> describe_step(const Plan& plan, const Step& step,
                                       std::span<const IValue> inputs, const IValue* slots) {
  std::vector<std::string> lines;
  const ir::Node* node = origin_of(plan, step);
  if (node == nullptr) return lines;
  if (step.kind == StepKind::kOp && node->op() != nullptr) {
    lines.push_back(describe_operator(*node, step, plan, inputs, slots));
  }
  if (!node->range().empty()) lines.push_back("at " + node->range().highlight());
  if (node->call_chain() != nullptr) {
    for (const ir::CallPlace& call : *node->call_chain()) {
      lines.push_back("called from " + call.text());
    }
  }
  return lines;
}

std::string describe_call(const Plan& plan, const Step& step) {
  const ir::Node* node = origin_of(plan, step);
  if (node == nullptr) return {};
  std::string text;
  if (!node->range().empty()) text = "called at " + node->range().highlight();
  if (node->call_chain() != nullptr) {
    for (const ir::CallPlace& call : *node->call_chain()) {
      text += (text.empty() ? "called from " : "\n  called from ") + call.text();
    }
  }
  return text;
}

}  // namespace tierup::runtime
