// Nodes are numbered in program order; the last use of a value is the largest number among the
// ancestors, in the value's own block, of its users.
#include "tierup/analysis/liveness.h"

namespace tierup::analysis {

using ir::Block;
using ir::Node;
using ir::Value;

namespace {

// Preorder of blocks and nodes without recursion into values.
template <typename OnBlock, typename OnNode>
void walk(const Block& block, const OnBlock& on_block, const OnNode& on_node) {
  on_block(block);
  for (const Node* node : block.nodes()) {
    on_node(node);
    for (const Block* inner : node->blocks()) walk(*inner, on_block, on_node);
  }
}

// The node of `home` that is `node` or holds it; null if `home` is not around it.
const Node* ancestor_in(const Node* node, const Block* home) {
  while (node != nullptr && node->owner() != home) node = node->owner()->parent();
  return node;
}

}  // namespace

Liveness::Liveness(const ir::Graph& graph) {
  size_t count = 0;
  walk(
      graph.block(), [](const Block&) {}, [&](const Node* node) { order_[node] = count++; });
  walk(
      graph.block(),
      [&](const Block& block) {
        for (const Value* param : block.params()) visit_value(param, &block);
      },
      [&](const Node* node) {
        for (const Value* output : node->outputs()) visit_value(output, node->owner());
      });
}

void Liveness::visit_value(const Value* value, const Block* home) {
  const Node* last = nullptr;
  for (const ir::Use& use : value->uses()) {
    if (use.user == nullptr && use.block == home) return;  // Returned: no last use here.
    const Node* user = use.user != nullptr ? use.user : use.block->parent();
    const Node* place = ancestor_in(user, home);
    if (place != nullptr && (last == nullptr || order_[place] > order_[last])) last = place;
  }
  if (last == nullptr) return;
  last_use_[value] = last;
  dying_[last].push_back(value);
}

const Node* Liveness::last_use(const Value* value) const {
  const auto found = last_use_.find(value);
  return found == last_use_.end() ? nullptr : found->second;
}

bool Liveness::is_returned(const Value* value) const {
  return !value->uses().empty() && last_use(value) == nullptr;
}

const std::vector<const Value*>& Liveness::dying_after(const Node* node) const {
  static const std::vector<const Value*> kNone;
  const auto found = dying_.find(node);
  return found == dying_.end() ? kNone : found->second;
}

bool Liveness::is_last_use(const Node* node, size_t index) const {
  const Value* value = node->input(index);
  if (last_use(value) != node) return false;
  for (size_t i = index + 1; i < node->inputs().size(); ++i) {
    if (node->input(i) == value) return false;  // A later input is the last one.
  }
  // The node itself may hold blocks that use the value again.
  for (const ir::Use& use : value->uses()) {
    if (use.user != node) {
      const Node* user = use.user != nullptr ? use.user : use.block->parent();
      if (ancestor_in(user, node->owner()) == node) return false;
    }
  }
  return true;
}

}  // namespace tierup::analysis
