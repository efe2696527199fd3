// One walk from the end of each block to its start, with the set of values read later on.
#include "tierup/runtime/last_use.h"

namespace tierup::runtime {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

LastUses::LastUses(const ir::Graph& graph) {
  number_values(graph.block());
  walk(graph.block(), LiveSet(values_.size(), false));
}

void LastUses::number_values(const Block& block) {
  const auto number = [&](const Value* value) {
    index_.emplace(value, values_.size());
    values_.push_back(value);
  };
  for (const Value* param : block.params()) number(param);
  for (const Node* node : block.nodes()) {
    for (const Value* output : node->outputs()) number(output);
    for (const Block* inner : node->blocks()) number_values(*inner);
  }
}

LastUses::LiveSet LastUses::walk(const Block& block, LiveSet live) {
  BlockUses ends;
  ends.is_last.resize(block.returns().size());
  for (size_t i = block.returns().size(); i-- > 0;) {
    const size_t value = index(block.returns()[i]);
    ends.is_last[i] = !live[value];
    live[value] = true;
  }
  for (const Node* node = block.last(); node != nullptr; node = node->previous()) {
    NodeUses uses;
    for (const Value* output : node->outputs()) {
      if (!live[index(output)]) uses.dead_after.push_back(output);
      live[index(output)] = false;
    }
    if (node->is(NodeKind::kIf)) walk_if(*node, live);
    if (node->is(NodeKind::kLoop)) walk_loop(*node, live, uses);
    uses.is_last.resize(node->inputs().size());
    for (size_t i = node->inputs().size(); i-- > 0;) {
      const size_t value = index(node->input(i));
      uses.is_last[i] = !live[value];
      live[value] = true;
    }
    nodes_.emplace(node, std::move(uses));
  }
  for (const Value* param : block.params()) {
    if (!live[index(param)]) ends.dead_at_start.push_back(param);
    live[index(param)] = false;
  }
  blocks_[&block] = std::move(ends);
  return live;
}

void LastUses::walk_if(const Node& node, LiveSet& live) {
  const LiveSet in_then = walk(*node.block(0), live);
  const LiveSet in_else = walk(*node.block(1), live);
  for (size_t i = 0; i < live.size(); ++i) {
    if (in_then[i] && !in_else[i]) blocks_[node.block(1)].dead_at_start.push_back(values_[i]);
    if (in_else[i] && !in_then[i]) blocks_[node.block(0)].dead_at_start.push_back(values_[i]);
    live[i] = in_then[i] || in_else[i];
  }
}

void LastUses::walk_loop(const Node& node, LiveSet& live, NodeUses& uses) {
  LiveSet used(live.size(), false);
  collect_uses(*node.block(0), used);
  LiveSet throughout = live;
  for (size_t i = 0; i < live.size(); ++i) {
    if (used[i] && !live[i]) uses.dead_after.push_back(values_[i]);
    throughout[i] = live[i] || used[i];
  }
  walk(*node.block(0), throughout);
  live = throughout;
}

// Values read in the block or deeper, but defined outside of it.
void LastUses::collect_uses(const Block& block, LiveSet& used) const {
  for (const Node* node : block.nodes()) {
    for (const Value* input : node->inputs()) used[index(input)] = true;
    for (const Block* inner : node->blocks()) collect_uses(*inner, used);
  }
  for (const Value* value : block.returns()) used[index(value)] = true;
  for (const Value* param : block.params()) used[index(param)] = false;
  for (const Node* node : block.nodes()) {
    for (const Value* output : node->outputs()) used[index(output)] = false;
  }
}

}  // namespace tierup::runtime
