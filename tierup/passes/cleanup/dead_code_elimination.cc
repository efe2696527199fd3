// One backward sweep by use lists is all that a graph needs which writes nothing. Otherwise nodes
// are then marked live from the roots until nothing changes: a write is live once its memory is
// live, and memory is live once a live node reads it or it is returned.
#include "tierup/passes/cleanup/dead_code_elimination.h"

#include <algorithm>
#include <unordered_set>

#include "tierup/analysis/effects.h"
#include "tierup/passes/core/may_raise.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using analysis::AliasAnalysis;
using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

// Whether a node would be missed although nobody uses what it gives.
bool is_missed(const Node& node, UnusedEffects unused) {
  if (unused == UnusedEffects::kRemove) return false;
  return (analysis::effects_of(node) & ir::kRandom) != 0 || may_raise(node);
}

// Whether the node, or one inside, may do more than give its outputs. Cheap, without analysis.
bool may_act(const Node& node, UnusedEffects unused) {
  if (is_missed(node, unused)) return true;
  switch (node.kind()) {
    case NodeKind::kOp: {
      const ir::Operator& op = *node.op();
      return op.schema().is_mutating() || (analysis::effects_of(node) & ir::kSideEffect) != 0 ||
             (op.has_effect(ir::kMayRaise) && node.outputs().empty());
    }
    case NodeKind::kIf:
    case NodeKind::kLoop:
      return std::any_of(node.blocks().begin(), node.blocks().end(), [unused](const Block* block) {
        for (const Node* inner : block->nodes()) {
          if (may_act(*inner, unused)) return true;
        }
        return false;
      });
    default: return !analysis::only_makes_results(node.kind());
  }
}

bool writes_memory(const Block& block) {
  for (const Node* node : block.nodes()) {
    if (node->is(NodeKind::kOp) ? node->op()->schema().is_mutating()
                                : node->is(NodeKind::kSetAttr)) {
      return true;
    }
    for (const Block* inner : node->blocks()) {
      if (writes_memory(*inner)) return true;
    }
  }
  return false;
}

// Marks live nodes of a graph that writes memory.
class Marker {
 public:
  Marker(const ir::Graph& graph, const AliasAnalysis& alias, UnusedEffects unused)
      : alias_(alias), unused_(unused) {
    live_memory_.resize(alias.location_count(), false);
    for (uint32_t location = 0; location < alias.location_count(); ++location) {
      live_memory_[location] = alias.escapes(location) || alias.is_returned(location);
    }
    for (const Value* output : graph.outputs()) mark_value(output);
    do {
      changed_ = false;
      visit_block(graph.block());
      drain();
    } while (changed_);
  }

  bool is_live(const Node* node) const { return live_.contains(node); }

 private:
  void visit_block(const Block& block) {
    for (const Node* node = block.last(); node != nullptr; node = node->previous()) {
      for (const Block* inner : node->blocks()) visit_block(*inner);
      if (!live_.contains(node) && node->blocks().empty() && is_root(*node)) mark_node(node);
    }
  }

  bool is_root(const Node& node) const {
    if (alias_.has_effects(&node)) return true;
    if (is_missed(node, unused_)) return true;
    const auto& written = alias_.written(&node);
    return std::any_of(written.begin(), written.end(),
                       [&](uint32_t location) { return live_memory_[location]; });
  }

  void mark_value(const Value* value) {
    if (value->node() != nullptr) {
      mark_node(value->node());
    } else if (value->block() != nullptr && value->block()->parent() != nullptr) {
      mark_node(value->block()->parent());
    }
  }

  void mark_node(const Node* node) {
    if (!live_.insert(node).second) return;
    changed_ = true;
    pending_.push_back(node);
  }

  // What a live node needs: its inputs, the memory they reach, the node around it, and for a node
  // with blocks their returns (all of them; unused outputs are canonicalize's to remove).
  void drain() {
    while (!pending_.empty()) {
      const Node* node = pending_.back();
      pending_.pop_back();
      for (const Value* input : node->inputs()) mark_value(input);
      if (node->blocks().empty()) {
        for (const uint32_t location : alias_.read(node)) live_memory_[location] = true;
      }
      for (const Value* output : node->outputs()) {
        for (const uint32_t location : alias_.locations(output)) live_memory_[location] = true;
      }
      for (const Block* block : node->blocks()) {
        for (const Value* value : block->returns()) mark_value(value);
      }
      if (const Node* parent = node->owner()->parent()) mark_node(parent);
    }
  }

  const AliasAnalysis& alias_;
  const UnusedEffects unused_;
  std::unordered_set<const Node*> live_;
  std::vector<bool> live_memory_;
  std::vector<const Node*> pending_;
  bool changed_ = false;
};

class Sweeper {
 public:
  Sweeper(PassContext& context, const Marker* marker, UnusedEffects unused)
      : context_(context), marker_(marker), unused_(unused) {}

  void visit_block(const Block& block) {
    for (Node* node = block.last(); node != nullptr;) {
      Node* previous = node->previous();
      if (is_dead(*node)) {
        context_.editor().remove(node);
        context_.count("removed");
      } else {
        for (const Block* inner : node->blocks()) visit_block(*inner);
      }
      node = previous;
    }
  }

 private:
  bool is_dead(const Node& node) const {
    if (!is_unused(node)) return false;
    return marker_ != nullptr ? !marker_->is_live(&node) : !may_act(node, unused_);
  }

  PassContext& context_;
  const Marker* marker_;
  const UnusedEffects unused_;
};

}  // namespace

void dead_code_elimination(PassContext& context, UnusedEffects unused) {
  const ir::Graph& graph = context.graph();
  // Most of what is dead is seen without the analysis, which then has less to look at.
  Sweeper(context, nullptr, unused).visit_block(graph.block());
  if (!writes_memory(graph.block())) return;
  const Marker marker(graph, context.alias(), unused);
  Sweeper(context, &marker, unused).visit_block(graph.block());
}

}  // namespace tierup::passes
