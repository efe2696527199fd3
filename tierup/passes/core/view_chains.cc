#include "tierup/passes/core/view_chains.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::Role;

namespace {

bool gives_list(Role role) { return role == Role::kUnbind || role == Role::kParts; }

bool gives_view(Role role) {
  switch (role) {
    case Role::kSelect:
    case Role::kSlice:
    case Role::kTranspose:
    case Role::kExpand:
    case Role::kView:
    case Role::kFlatten:
    case Role::kRearrangement: return true;
    default: return gives_list(role);
  }
}

// The operator behind a value, which may be an element of its list; the nodes go to `nodes`, the
// last one first.
const Node* viewer_of(const Value* value, std::vector<Node*>& nodes, int64_t& part) {
  Node* node = value->node();
  part = -1;
  if (node == nullptr || !node->blocks().empty()) return nullptr;
  nodes.push_back(node);
  if (node->is(NodeKind::kListUnpack)) {
    const auto outputs = node->outputs();
    part = std::find(outputs.begin(), outputs.end(), value) - outputs.begin();
  } else if (role_of(*node) == Role::kListItem) {
    const IValue* index = constant_of(node->input(1));
    if (index == nullptr || !index->is_int() || index->to_int() < 0) return nullptr;
    part = index->to_int();
  } else {
    return gives_view(role_of(*node)) && !gives_list(role_of(*node)) ? node : nullptr;
  }
  Node* maker = node->input(0)->node();
  if (maker == nullptr || maker->owner() != node->owner() || !gives_list(role_of(*maker)) ||
      !is_only_read(node->input(0))) {
    return nullptr;
  }
  nodes.push_back(maker);
  return maker;
}

}  // namespace

bool is_view_list(const Node& node) {
  return gives_list(role_of(node)) && is_only_read(node.output());
}

ViewChain longest_view_chain(const Value* value,
                             const std::function<bool(const Value*)>& is_source) {
  ViewChain longest;
  longest.source = value;
  const Value* source = value;
  while (!is_source(source)) {
    std::vector<Node*> nodes;
    int64_t part = -1;
    const Node* viewer = viewer_of(source, nodes, part);
    if (viewer == nullptr) break;
    source = viewer->input(0);
    auto chain = view_chain(value, [&](const Value* at) { return at == source; });
    if (!chain) break;
    longest = *std::move(chain);
  }
  return longest;
}

std::optional<ViewChain> view_chain(const Value* value,
                                    const std::function<bool(const Value*)>& is_source) {
  ViewChain chain;
  const ir::Block* block = value->node() == nullptr ? nullptr : value->node()->owner();
  while (!is_source(value)) {
    ops::ViewStep step;
    const Node* node = viewer_of(value, chain.nodes, step.part);
    if (node == nullptr || node->owner() != block) return std::nullopt;
    step.op = &ops::op_of(*node->op());
    for (size_t i = 1; i < node->inputs().size(); ++i) {
      std::optional<IValue> argument = known_argument(node->input(i));
      if (!argument) return std::nullopt;
      step.rest.push_back(std::move(*argument));
    }
    chain.steps.push_back(std::move(step));
    value = node->input(0);
  }
  chain.source = value;
  std::reverse(chain.steps.begin(), chain.steps.end());
  std::reverse(chain.nodes.begin(), chain.nodes.end());
  return chain;
}

}  // namespace tierup::passes
