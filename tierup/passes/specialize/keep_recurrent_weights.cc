#include "tierup/passes/specialize/keep_recurrent_weights.h"

#include <string>

#include "tierup/ops/rows/recurrent_step.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::Value;

namespace {

void keep_weights_of(PassContext& context, Node& node) {
  const std::string name = node.op()->schema().qualified_name();
  const ops::Op* twin = context.table().find("tierup::" + name.substr(name.find("::") + 2));
  TIERUP_CHECK(twin != nullptr);
  ir::GraphEditor& editor = context.editor();
  editor.set_insert_before(&node);
  editor.set_range(node.range());
  editor.set_call_chain(node.call_chain());
  std::vector<Value*> inputs{editor.constant(IValue::capsule(make_ref<ops::RecurrentStep>()))};
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

void visit(PassContext& context, const ir::Block& block) {
  std::vector<Node*> found;
  for (Node* node : block.nodes()) {
    for (const ir::Block* inner : node->blocks()) visit(context, *inner);
    if (role_of(*node) == ops::Role::kRecurrent) found.push_back(node);
  }
  for (Node* node : found) keep_weights_of(context, *node);
}

}  // namespace

void keep_recurrent_weights(PassContext& context) { visit(context, context.graph().block()); }

}  // namespace tierup::passes
