// A tensor that no other value shares has one name at each point of its block: its own before the
// write, the write's result after it. That makes the functional twin a plain renaming.
#include "tierup/passes/cleanup/remove_mutation.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using analysis::AliasAnalysis;
using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

bool writes_first_argument_only(const ir::Schema& schema) {
  if (schema.arguments.empty() || schema.returns.size() != 1) return false;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const ir::Argument& argument = schema.arguments[i];
    if (argument.element_alias.is_write || argument.alias.is_write != (i == 0)) return false;
  }
  return schema.returns[0].alias.set == schema.arguments[0].alias.set;
}

// "add_.Tensor" -> the operator that computes the same into fresh memory; null if there is
// none.
const ops::Op* functional_twin(const ir::Operator& op, const ops::OpTable& table) {
  const ir::Schema& schema = op.schema();
  if (!schema.name.ends_with('_') || schema.name.ends_with("__")) return nullptr;
  const std::string name = schema.name.substr(0, schema.name.size() - 1);
  const ops::Op* twin = table.find(schema.overload.empty() ? name : name + "." + schema.overload);
  if (twin == nullptr || twin->schema().is_mutating() || twin->schema().returns.size() != 1 ||
      !twin->schema().returns[0].alias.empty() ||
      twin->schema().arguments.size() != schema.arguments.size()) {
    return nullptr;
  }
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    if (!equal(twin->schema().arguments[i].type, schema.arguments[i].type)) return nullptr;
  }
  return twin;
}

class TensorMutation {
 public:
  explicit TensorMutation(PassContext& context) : context_(context), editor_(context.editor()) {}

  void visit_block(const Block& block) {
    for (Node* node : block.nodes()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (node->is(NodeKind::kOp)) visit_op(node);
    }
  }

 private:
  void visit_op(Node* node) {
    if (!writes_first_argument_only(node->op()->schema())) return;
    const ops::Op* twin = functional_twin(*node->op(), context_.table());
    Value* target = node->input(0);
    if (twin == nullptr || !is_private(target, *node)) return;
    // The write keeps the target's dtype and shape; the twin might promote or broadcast. Only known
    // equality of types lets it stand in.
    if (!keeps_type(*node, *target)) return;
    editor_.set_insert_before(node);
    editor_.set_range(node->range());
    Node* pure = editor_.create_op(*twin, node->inputs());
    editor_.set_range({});
    Value* result = pure->output();
    editor_.set_type(result, node->output()->type());
    editor_.set_name(result, node->output()->name());
    context_.hints().copy(node->output(), result);
    editor_.replace_uses(node->output(), result);
    replace_later_uses(target, result, node);
    editor_.remove(node);
    context_.count("rewritten");
  }

  // Made fresh by an operator of this block, and reached by no other value than the write's result.
  bool is_private(const Value* target, const Node& write) {
    const Node* maker = target->node();
    if (maker == nullptr || !maker->is(NodeKind::kOp) || maker->owner() != write.owner()) {
      return false;
    }
    const auto& result = maker->op()->schema().returns;
    if (target->index() >= result.size() || !result[target->index()].alias.empty()) return false;
    const AliasAnalysis& alias = context_.alias();
    if (alias.is_wildcard(target)) return false;
    for (const ir::Use& use : target->uses()) {
      if (!is_harmless(use, write)) return false;
    }
    return true;
  }

  // A use that neither shares the memory with another value nor puts it anywhere.
  static bool is_harmless(const ir::Use& use, const Node& write) {
    if (use.user == &write) return use.index == 0;
    if (use.user == nullptr) return use.block == write.owner();
    if (use.user->is(NodeKind::kTupleConstruct)) return is_before(&write, use.user);
    if (!use.user->is(NodeKind::kOp)) return false;
    const auto& arguments = use.user->op()->schema().arguments;
    if (use.index >= arguments.size()) return false;
    // Reads anywhere; other writes only behind this one, where they are seen in turn.
    const ir::AliasInfo& mark = arguments[use.index].alias;
    return mark.empty() ||
           (mark.is_write && use.user->owner() == write.owner() && is_before(&write, use.user));
  }

  // Whether the types say that the result has the target's dtype and shape.
  static bool keeps_type(const Node& write, const Value& target) {
    const TensorFacts& facts = target.type()->facts();
    if (!facts.dtype || !facts.sizes) return false;
    for (const Value* input : write.inputs()) {
      if (!input->type()->is(TypeKind::kTensor)) continue;
      const TensorFacts& other = input->type()->facts();
      if (other.dtype != facts.dtype || other.sizes != facts.sizes) return false;
    }
    return std::all_of(facts.sizes->begin(), facts.sizes->end(),
                       [](const Dim& dim) { return dim.kind != Dim::Kind::kUnknown; });
  }

  void replace_later_uses(Value* target, Value* result, const Node* write) {
    const std::vector<ir::Use> uses(target->uses().begin(), target->uses().end());
    for (const ir::Use& use : uses) {
      if (use.user == write) continue;
      const Node* place = place_of(use, write->owner());
      if (place != nullptr && !is_before(write, place)) continue;
      if (place == result->node()) continue;
      if (use.user != nullptr) {
        editor_.set_input(use.user, use.index, result);
      } else {
        editor_.set_return(use.block, use.index, result);
      }
    }
  }

  PassContext& context_;
  ir::GraphEditor& editor_;
};

}  // namespace

void remove_tensor_mutation(PassContext& context) {
  TensorMutation(context).visit_block(context.graph().block());
}

}  // namespace tierup::passes
