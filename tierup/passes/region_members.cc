#include "tierup/passes/region_members.h"

#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using kernels::net::OpKind;

OpKind kind_of(const Node& node) {
  if (node.is(NodeKind::kListConstruct)) {
    const TypePtr& type = node.output()->type();
    if (!type->is(TypeKind::kList) || !is_only_read(node.output())) return OpKind::kNone;
    if (type->element()->is(TypeKind::kInt)) return OpKind::kList;
    return type->element()->is(TypeKind::kTensor) ? OpKind::kTensors : OpKind::kNone;
  }
  return node.is(NodeKind::kOp) ? ops::net_kind_of(*node.op()) : OpKind::kNone;
}

bool parts(OpKind kind) { return kind == OpKind::kSplit || kind == OpKind::kChunk; }

bool is_in_place(const Node& node) {
  if (!node.is(NodeKind::kOp)) return false;
  const auto& arguments = node.op()->schema().arguments;
  return !arguments.empty() && arguments[0].alias.is_write;
}

bool is_view(const Node& node) {
  if (!node.is(NodeKind::kOp)) return false;
  const ir::Schema& schema = node.op()->schema();
  return !is_in_place(node) && !schema.returns.empty() &&
         (!schema.returns[0].alias.empty() || !schema.returns[0].element_alias.empty());
}

Node* sole_unpacking(const Node& node) {
  if (node.outputs().size() != 1 || node.output()->uses().size() != 1) return nullptr;
  Node* user = node.output()->uses()[0].user;
  const bool fits =
      user != nullptr && user->is(NodeKind::kListUnpack) && user->owner() == node.owner();
  return fits ? user : nullptr;
}

OpKind kind_over_numbers(const Node& node, OpKind kind) {
  const bool has_factor = node.inputs().size() > 2;
  const IValue* factor = has_factor ? constant_of(node.input(2)) : nullptr;
  if (has_factor && (factor == nullptr || !factor->is_int() || factor->to_int() != 1)) return kind;
  switch (kind) {
    case OpKind::kAdd: return OpKind::kIntAdd;
    case OpKind::kSub: return OpKind::kIntSub;
    case OpKind::kMul: return OpKind::kIntMul;
    default: return kind;
  }
}

TensorFacts seen_facts(const Value* value, const ir::ValueHints& hints) {
  const TensorFacts* hint = hints.find(value);
  return hint != nullptr ? *hint : value->type()->facts();
}

}  // namespace tierup::passes
