// From a profile to what is known of the values and nodes of a graph.
#include <algorithm>

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

// What the nodes of a block took together in a run, and how often the block ran.
struct BlockTime {
  double nanoseconds = 0;
  uint64_t executions = 0;
};

class CostReader {
 public:
  CostReader(const ir::Graph& graph, const GraphProfile& profile) {
    const std::vector<const Value*> values = profiled_values(graph);
    for (size_t i = 0; i < values.size() && i < profile.times().size(); ++i) {
      if (values[i]->index() == 0) times_[values[i]->node()] = profile.times()[i];
    }
    read(graph.block());
  }

  std::unordered_map<const Node*, double> take() { return std::move(costs_); }

 private:
  BlockTime read(const Block& block) {
    BlockTime total;
    std::vector<std::pair<const Node*, double>> nested;
    for (const Node* node : block.nodes()) {
      if (!node->blocks().empty()) {
        double inside = 0;
        for (const Block* inner : node->blocks()) inside += read(*inner).nanoseconds;
        total.nanoseconds += inside;
        nested.emplace_back(node, inside);
        continue;
      }
      const auto found = times_.find(node);
      if (found == times_.end()) continue;
      costs_[node] = found->second.each();
      total.nanoseconds += found->second.nanoseconds;
      total.executions = std::max(total.executions, found->second.executions);
    }
    const double times = static_cast<double>(std::max<uint64_t>(total.executions, 1));
    for (const auto& [node, inside] : nested) costs_[node] = inside / times;
    return total;
  }

  std::unordered_map<const Node*, TimeProfile> times_;
  std::unordered_map<const Node*, double> costs_;
};

}  // namespace

std::unordered_map<const Node*, double> costs_of(const ir::Graph& graph,
                                                 const GraphProfile& profile) {
  return CostReader(graph, profile).take();
}

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
