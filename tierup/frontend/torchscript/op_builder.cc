// See op_builder.h.
#include "tierup/frontend/torchscript/op_builder.h"

#include <algorithm>

namespace tierup::frontend::torchscript {

using ir::NodeKind;
using ir::Value;

Value* OpBuilder::op(std::string_view qualified_name, std::span<Value* const> inputs) {
  if (any_poisoned(inputs)) return trap_after(inputs);
  const ops::Op* found = ops::OpTable::instance().find(qualified_name);
  if (found == nullptr) {
    return trap(std::string(qualified_name), "the operator is not supported", inputs);
  }
  return editor_.create_op(*found, inputs)->output();
}

Value* OpBuilder::trap(std::string name, std::string reason, std::span<Value* const> inputs) {
  Value* result = trap_after(inputs);
  editor_.set_attr(result->node(), ir::AttrName::kMessage,
                   ir::AttrValue("Unknown builtin op: " + name + " (" + reason + ")"));
  editor_.set_attr(result->node(), ir::AttrName::kName, ir::AttrValue(std::move(name)));
  editor_.set_attr(result->node(), ir::AttrName::kNote, ir::AttrValue(std::move(reason)));
  return result;
}

Value* OpBuilder::trap_after(std::span<Value* const> inputs) {
  ir::Node* trap = editor_.create(NodeKind::kTrap, inputs);
  editor_.set_attr(trap, ir::AttrName::kMessage,
                   ir::AttrValue(std::string("needs the result of an unsupported operator")));
  Value* result = editor_.add_output(trap, Type::any());
  poison(result);
  return result;
}

bool OpBuilder::any_poisoned(std::span<Value* const> values) const {
  return !poisoned_.empty() &&
         std::any_of(values.begin(), values.end(), [&](Value* v) { return is_poisoned(v); });
}

Value* OpBuilder::node(NodeKind kind, std::span<Value* const> inputs, TypePtr type) {
  Value* result = editor_.add_output(editor_.create(kind, inputs), std::move(type));
  if (kind != NodeKind::kUncheckedCast && any_poisoned(inputs)) poison(result);
  return result;
}

Value* OpBuilder::unchecked_cast(Value* value, TypePtr type) {
  if (equal(value->type(), type)) return value;
  return node(NodeKind::kUncheckedCast, {value}, std::move(type));
}

Value* OpBuilder::uninitialized(TypePtr type) {
  return node(NodeKind::kUninitialized, {}, std::move(type));
}

std::vector<Value*> OpBuilder::unpack_tuple(Value* tuple) {
  ir::Node* unpack = editor_.create(NodeKind::kTupleUnpack, {tuple});
  for (const TypePtr& element : tuple->type()->elements()) editor_.add_output(unpack, element);
  const auto outputs = unpack->outputs();
  return {outputs.begin(), outputs.end()};
}

}  // namespace tierup::frontend::torchscript
