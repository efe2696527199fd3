// Liveness: where each value is used for the last time.
//
// A value dies behind its last use in program order: a node in the block that defines it, or the
// node of that block inside which the last use stands. A value of an outer block used in a loop's
// body lives until the loop ends; values of the body (and its parameters) die in the body.
#pragma once

#include <unordered_map>
#include <vector>

#include "tierup/ir/graph.h"

namespace tierup::analysis {

class Liveness {
 public:
  // One sweep over the graph. The graph must outlive the result.
  explicit Liveness(const ir::Graph& graph);

  // The node of the value's own block behind which it is dead. Null if it is returned by its block
  // (then it lives on in whatever the block's results become), and if it has no use (see
  // is_unused).
  const ir::Node* last_use(const ir::Value* value) const;
  bool is_returned(const ir::Value* value) const;
  bool is_unused(const ir::Value* value) const { return value->uses().empty(); }
  // Values that die behind a node of their block, in order of definition; not its own outputs.
  const std::vector<const ir::Value*>& dying_after(const ir::Node* node) const;
  // Whether input `index` of the node is the very last use of its value, so that it can be moved
  // in. Never true for values defined outside of a loop that holds the node, nor twice for one
  // node.
  bool is_last_use(const ir::Node* node, size_t index) const;

 private:
  void visit_value(const ir::Value* value, const ir::Block* home);

  std::unordered_map<const ir::Value*, const ir::Node*> last_use_;
  std::unordered_map<const ir::Node*, std::vector<const ir::Value*>> dying_;
  std::unordered_map<const ir::Node*, size_t> order_;
};

}  // namespace tierup::analysis
