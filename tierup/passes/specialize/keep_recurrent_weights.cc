#include "tierup/passes/specialize/keep_recurrent_weights.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tierup/ops/rows/recurrent_step.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

// What an unrolled loop's steps have in common: everything from the third argument on, tensors that
// are constants by their memory.
using Weights = std::vector<const void*>;
using Steps = std::map<Weights, Ref<ops::RecurrentStep>>;

void add_weights(const Value* value, Weights& weights) {
  const Node* node = value->node();
  const IValue* constant = constant_of(value);
  if (constant != nullptr && constant->is_tensor()) {
    weights.push_back(constant->to_tensor().defined() ? constant->to_tensor().raw() : nullptr);
  } else if (node != nullptr && node->is(NodeKind::kListConstruct)) {
    for (const Value* item : node->inputs()) add_weights(item, weights);
  } else if (constant == nullptr) {
    weights.push_back(value);
  }
}

void keep_weights_of(PassContext& context, Node& node, Steps& steps) {
  const std::string name = node.op()->schema().qualified_name();
  const ops::Op* twin = context.table().find("tierup::" + name.substr(name.find("::") + 2));
  TIERUP_CHECK(twin != nullptr);
  ir::GraphEditor& editor = context.editor();
  editor.set_insert_before(&node);
  editor.set_range(node.range());
  editor.set_call_chain(node.call_chain());
  Weights weights;
  for (size_t i = 2; i < node.inputs().size(); ++i) add_weights(node.input(i), weights);
  Ref<ops::RecurrentStep>& step = steps[std::move(weights)];
  if (step == nullptr) {
    step = make_ref<ops::RecurrentStep>();
    context.count("packed");
  }
  std::vector<Value*> inputs{editor.constant(IValue::capsule(Ref<RefCounted>(step.get())))};
  inputs.insert(inputs.end(), node.inputs().begin(), node.inputs().end());
  Node* kept = editor.create_op(*twin, inputs);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* result = kept->output(i);
    editor.set_type(result, node.output(i)->type());
    context.hints().copy(node.output(i), result);
    editor.replace_uses(node.output(i), result);
  }
  editor.remove(&node);
  editor.set_range({});
  context.count("kept");
}

void visit(PassContext& context, const ir::Block& block, Steps& steps) {
  std::vector<Node*> found;
  for (Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) visit(context, *inner, steps);
    if (role_of(*node) == ops::Role::kRecurrent) found.push_back(node);
  }
  for (Node* node : found) keep_weights_of(context, *node, steps);
}

}  // namespace

void keep_recurrent_weights(PassContext& context) {
  Steps steps;
  visit(context, context.graph().block(), steps);
}

}  // namespace tierup::passes
