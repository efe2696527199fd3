// Outliner: copies nodes out of a graph into one of their own, the body of a fork or a region.
//
// What the nodes read from outside becomes a parameter of the body, a constant is made again there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tierup/ir/graph_editor.h"
#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// Every value that a node reads, inside its blocks too.
template <typename Visit>
void for_inputs(const ir::Node& node, Visit&& visit) {
  for (ir::Value* input : node.inputs()) visit(input);
  for (const ir::Block* block : node.blocks()) {
    for (const ir::Node* inner : block->nodes()) for_inputs(*inner, visit);
    for (ir::Value* value : block->returns()) visit(value);
  }
}

class Outliner {
 public:
  // `home`: the block that the nodes are taken from.
  Outliner(PassContext& context, const ir::Block* home, const std::string& name)
      : context_(context), home_(home), graph_(std::make_shared<ir::Graph>(name)) {}

  // Behind what was copied before. The copy has the node's place in the program, and its values'
  // hints.
  void copy(const ir::Node& node);
  // The copy of a value that was made or read by what was copied.
  ir::Value* copy_of(const ir::Value* value) const { return map_.at(value); }
  // Gives the copies the ids of what they are copies of. Nothing may be added afterwards.
  void keep_ids();

  // The values that the body's parameters stand for, in order.
  const std::vector<ir::Value*>& captures() const { return captures_; }
  const std::shared_ptr<ir::Graph>& graph() const { return graph_; }
  // Stands at the body's end.
  ir::GraphEditor& editor() { return editor_; }

 private:
  void take(ir::Value* from, ir::Value* to);
  void bring(ir::Value* value);
  bool is_inner(const ir::Value* value) const;
  void copy_block(const ir::Block& block, ir::Node* owner);

  PassContext& context_;
  const ir::Block* home_;
  std::shared_ptr<ir::Graph> graph_;
  ir::GraphEditor editor_{*graph_};
  ir::ValueMap map_;
  std::vector<ir::Value*> captures_;
};

}  // namespace tierup::passes
