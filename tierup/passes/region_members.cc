#include "tierup/passes/region_members.h"

#include <algorithm>
#include <unordered_map>

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

namespace {

// Of one row, by its type or by what was seen.
bool is_row(const Value* value, const ir::ValueHints& hints) {
  const TensorFacts* hint = hints.find(value);
  const auto& sizes = hint != nullptr && hint->sizes ? hint->sizes : value->type()->facts().sizes;
  return sizes && !sizes->empty() &&
         std::all_of(sizes->begin(), sizes->end() - 1, [](const Dim& dim) {
           return dim == Dim{Dim::Kind::kStatic, 1};
         });
}

}  // namespace

std::vector<const Node*> recurring_products(const ir::Block& block, const ir::ValueHints& hints) {
  constexpr size_t kMostReadings = 8;
  std::unordered_map<const void*, std::vector<const Node*>> readers;
  for (const Node* node : block.nodes()) {
    const OpKind kind = kind_of(*node);
    const bool is_product = kind == OpKind::kLinear || kind == OpKind::kAddmm;
    if (!is_product || !is_row(node->output(), hints)) continue;
    for (const Value* input : node->inputs()) {
      const IValue* constant = constant_of(input);
      if (constant == nullptr || constant->tensor_impl() == nullptr) continue;
      if (constant->tensor_impl()->sizes.size() == 2)
        readers[constant->to_tensor().raw()].push_back(node);
    }
  }
  std::vector<const Node*> recurring;
  for (const auto& [matrix, nodes] : readers) {
    if (nodes.size() >= kMostReadings)
      recurring.insert(recurring.end(), nodes.begin(), nodes.end());
  }
  return recurring;
}

}  // namespace tierup::passes
