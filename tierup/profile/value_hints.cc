// From a profile to hints about the values of a graph.
#include "tierup/profile/graph_profile.h"

namespace tierup::profile {
namespace {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;
using ir::ValueHints;

void collect(const Block& block, std::vector<const Value*>& values) {
  for (const Node* node : block.nodes()) {
    for (const Block* inner : node->blocks()) collect(*inner, values);
    // Ifs and Loops pass values on; their outputs get what the sources have in common.
    if (node->is(NodeKind::kConstant) || !node->blocks().empty()) continue;
    values.insert(values.end(), node->outputs().begin(), node->outputs().end());
  }
}

// What two sources of one value agree on.
TensorFacts common_facts(const TensorFacts& a, const TensorFacts& b) {
  TensorFacts facts;
  if (a.dtype == b.dtype) facts.dtype = a.dtype;
  if (a.device == b.device) facts.device = a.device;
  if (a.requires_grad == b.requires_grad) facts.requires_grad = a.requires_grad;
  if (!a.sizes || !b.sizes || a.sizes->size() != b.sizes->size()) return facts;
  facts.sizes.emplace();
  for (size_t d = 0; d < a.sizes->size(); ++d)
    facts.sizes->push_back((*a.sizes)[d] == (*b.sizes)[d] ? (*a.sizes)[d] : Dim{});
  return facts;
}

void join(ValueHints& hints, const Value* target, const Value* a, const Value* b) {
  const TensorFacts* x = hints.find(a);
  const TensorFacts* y = hints.find(b);
  if (x != nullptr && y != nullptr) hints.set(target, common_facts(*x, *y));
}

void join_blocks(ValueHints& hints, const Block& block) {
  for (const Node* node : block.nodes()) {
    if (node->is(NodeKind::kLoop)) {
      // A carried value before the loop and after a trip; one the body passes on is the former.
      const Block& body = *node->block(0);
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        const Value* start = node->input(i + 2);
        const Value* param = body.params()[i + 1];
        const Value* next = body.returns()[i + 1];
        join(hints, param, start, next == param ? start : next);
      }
    }
    for (const Block* inner : node->blocks()) join_blocks(hints, *inner);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      if (node->is(NodeKind::kIf)) {
        join(hints, node->output(i), node->block(0)->returns()[i], node->block(1)->returns()[i]);
      } else if (node->is(NodeKind::kLoop)) {
        hints.copy(node->block(0)->params()[i + 1], node->output(i));
      }
    }
  }
}

}  // namespace

std::vector<const Value*> profiled_values(const ir::Graph& graph) {
  std::vector<const Value*> values;
  collect(graph.block(), values);
  return values;
}

ValueHints hints_of(const ir::Graph& graph, const GraphProfile& profile) {
  ValueHints hints;
  const auto note = [&](const Value* value, const ValueProfile& seen) {
    if (seen.kind == ValueProfile::Kind::kTensor) hints.set(value, seen.facts());
  };
  for (size_t i = 0; i < graph.inputs().size() && i < profile.arguments().size(); ++i)
    note(graph.inputs()[i], profile.arguments()[i]);
  if (profile.values().empty()) return hints;
  const std::vector<const Value*> values = profiled_values(graph);
  for (size_t i = 0; i < values.size() && i < profile.values().size(); ++i)
    note(values[i], profile.values()[i]);
  join_blocks(hints, graph.block());
  return hints;
}

}  // namespace tierup::profile
