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

namespace {

// As it was seen.
bool is_small_product(const Node& node, OpKind kind, const ir::ValueHints& hints) {
  if (kind != OpKind::kMatmul) return false;
  IntVector sizes[2];
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<std::vector<Dim>> seen = seen_facts(node.input(i), hints).sizes;
    if (constant_of(node.input(i)) != nullptr || !seen) return false;
    for (const Dim& dim : *seen) {
      if (dim.kind != Dim::Kind::kStatic) return false;
      sizes[i].push_back(dim.value);
    }
  }
  return ops::is_small_product(sizes[0], sizes[1]);
}

}  // namespace

bool is_worth_it(const std::vector<RegionMember>& members, const ir::ValueHints& hints) {
  bool has_large = false;
  bool has_small = false;
  bool has_softmax = false;
  for (const RegionMember& member : members) {
    const bool is_small = is_small_product(*member.node, member.kind, hints);
    (is_small ? has_small : has_large) |= ops::is_heavy(member.kind);
    has_softmax |= member.kind == OpKind::kSoftmax;
  }
  return has_large || (has_small && has_softmax);
}

}  // namespace tierup::passes
