// GateWork: what recurrent cells do with their gates.
//
// Gates are parts of few rows: a product's result, chunked. What is done with them is point-wise,
// and a fusion group does all of it in one kernel, where a net has a step for each.
#pragma once

#include <unordered_set>

#include "tierup/ir/graph.h"
#include "tierup/ir/value_hints.h"

namespace tierup::passes {

class GateWork {
 public:
  // The hints must outlive this.
  explicit GateWork(const ir::ValueHints& hints) : hints_(&hints) {}

  // Whether a node is such work. Nodes are to be given in program order.
  bool visit(const ir::Node& node);
  // Whether a node takes few rows apart.
  bool gives_gates(const ir::Node* node) const;

 private:
  const ir::ValueHints* hints_;
  std::unordered_set<const ir::Value*> gates_;  // And what was made of them.
};

}  // namespace tierup::passes
