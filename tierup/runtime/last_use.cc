// One walk from the end of each block to its start, with the set of values read later on.
#include "tierup/runtime/last_use.h"

#include <bit>

namespace tierup::runtime {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

void LastUses::LiveSet::insert_all(const LiveSet& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

std::vector<size_t> LastUses::LiveSet::without(const LiveSet& other) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < words_.size(); ++i) {
    for (uint64_t rest = words_[i] & ~other.words_[i]; rest != 0; rest &= rest - 1) {
      result.push_back(i * 64 + static_cast<size_t>(std::countr_zero(rest)));
    }
  }
  return result;
}

LastUses::LastUses(const ir::Graph& graph)
    : index_(static_cast<size_t>(graph.id_bound()), std::numeric_limits<uint32_t>::max()) {
  number_values(graph.block());
  nodes_.reserve(values_.size());
  walk(graph.block(), LiveSet(values_.size()));
}

void LastUses::number_values(const Block& block) {
  const auto number = [&](const Value* value) {
    index_[static_cast<size_t>(value->id())] = static_cast<uint32_t>(values_.size());
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
    ends.is_last[i] = !live.contains(value);
    live.insert(value);
  }
  for (const Node* node = block.last(); node != nullptr; node = node->previous()) {
    NodeUses& uses = nodes_[node];
    for (const Value* output : node->outputs()) {
      if (!live.contains(index(output))) uses.dead_after.push_back(output);
      live.erase(index(output));
    }
    if (node->is(NodeKind::kIf)) walk_if(*node, live);
    if (node->is(NodeKind::kLoop)) walk_loop(*node, live, uses);
    uses.is_last.resize(node->inputs().size());
    for (size_t i = node->inputs().size(); i-- > 0;) {
      const size_t value = index(node->input(i));
      uses.is_last[i] = !live.contains(value);
      live.insert(value);
    }
  }
  for (const Value* param : block.params()) {
    if (!live.contains(index(param))) ends.dead_at_start.push_back(param);
    live.erase(index(param));
  }
  blocks_[&block] = std::move(ends);
  return live;
}

void LastUses::walk_if(const Node& node, LiveSet& live) {
  LiveSet in_then = walk(*node.block(0), live);
  const LiveSet in_else = walk(*node.block(1), std::move(live));
  for (const size_t i : in_then.without(in_else))
    blocks_[node.block(1)].dead_at_start.push_back(values_[i]);
  for (const size_t i : in_else.without(in_then))
    blocks_[node.block(0)].dead_at_start.push_back(values_[i]);
  in_then.insert_all(in_else);
  live = std::move(in_then);
}

void LastUses::walk_loop(const Node& node, LiveSet& live, NodeUses& uses) {
  LiveSet used(values_.size());
  collect_uses(*node.block(0), used);
  for (const size_t i : used.without(live)) uses.dead_after.push_back(values_[i]);
  live.insert_all(used);
  walk(*node.block(0), live);
}

// Values read in the block or deeper, but defined outside of it.
void LastUses::collect_uses(const Block& block, LiveSet& used) const {
  for (const Node* node : block.nodes()) {
    for (const Value* input : node->inputs()) used.insert(index(input));
    for (const Block* inner : node->blocks()) collect_uses(*inner, used);
  }
  for (const Value* value : block.returns()) used.insert(index(value));
  for (const Value* param : block.params()) used.erase(index(param));
  for (const Node* node : block.nodes()) {
    for (const Value* output : node->outputs()) used.erase(index(output));
  }
}

}  // namespace tierup::runtime
