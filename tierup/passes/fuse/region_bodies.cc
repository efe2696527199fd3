#include "tierup/passes/fuse/region_bodies.h"

#include <unordered_set>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

void find_ids(const Block& block, std::unordered_set<int>& ids) {
  for (const Value* param : block.params()) ids.insert(param->id());
  for (const Node* node : block.nodes()) {
    for (const Value* output : node->outputs()) ids.insert(output->id());
    for (const Block* inner : node->blocks()) find_ids(*inner, ids);
  }
}

// Values that took part in the region are those of tier 0's graph again, for who compares tiers.
void give_ids_back(PassContext& context, const ir::ValueMap& copies) {
  std::unordered_set<int> taken;
  find_ids(context.graph().block(), taken);
  for (const auto& [value, copy] : copies) {
    const bool is_made = value->node() != nullptr && !value->node()->is(NodeKind::kConstant);
    if (is_made && taken.insert(value->id()).second) context.editor().set_id(copy, value->id());
  }
}

}  // namespace

ops::NeuralNet* net_of(const Node& node) {
  if (role_of(node) != ops::Role::kNeuralNet) return nullptr;
  const IValue* capsule = constant_of(node.input(0));
  return capsule == nullptr ? nullptr : dynamic_cast<ops::NeuralNet*>(capsule->to_capsule());
}

std::vector<Node*> dissolve_region(PassContext& context, Node* region) {
  ir::GraphEditor& editor = context.editor();
  const auto body = region->attr<std::shared_ptr<const ir::Graph>>(ir::AttrName::kBody);
  ir::ValueMap map;
  for (size_t i = 0; i < body->inputs().size(); ++i) map[body->inputs()[i]] = region->input(i + 1);
  editor.set_insert_before(region);
  const std::vector<Value*> results = editor.inline_block(body->block(), map);
  for (size_t i = 0; i < results.size(); ++i) {
    context.hints().copy(region->output(i), results[i]);
    editor.set_name(results[i], region->output(i)->name());
    editor.replace_uses(region->output(i), results[i]);
  }
  editor.remove(region);
  std::vector<Node*> members;
  ir::ValueMap made;
  for (const Node* node : body->block().nodes()) {
    for (const Value* output : node->outputs()) {
      made[output] = map.at(output);
      context.hints().copy(output, map.at(output));
    }
    // Unpackings belong to the operators whose lists they take apart.
    const bool is_member = node->is(NodeKind::kOp) || node->is(NodeKind::kListConstruct);
    if (is_member) members.push_back(map.at(node->output())->node());
  }
  give_ids_back(context, made);
  return members;
}

}  // namespace tierup::passes
