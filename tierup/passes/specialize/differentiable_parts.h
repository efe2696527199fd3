// Which nodes may stand in a differentiable part of a program, and which values may enter one.
#pragma once

#include <unordered_map>

#include "tierup/analysis/alias.h"
#include "tierup/ir/graph.h"
#include "tierup/ops/regions/refusal.h"

namespace tierup::passes {

class PartMembers {
 public:
  explicit PartMembers(const analysis::AliasAnalysis& alias) : alias_(alias) {}

  // kNone if the node, and everything in its blocks, may stand in a part; else why not.
  ops::PartRefusal refusal(const ir::Node* node);
  // An operator with tensors among its results, or a node with such operators inside.
  static bool computes(const ir::Node* node);
  // Gives views of its inputs: such values do not leave a part.
  static bool makes_views(const ir::Node* node);
  // Whether a value may be an input of a part: a tensor, or something that can be compared.
  static bool may_enter(const ir::Value* value);

 private:
  ops::PartRefusal find_refusal(const ir::Node* node);
  ops::PartRefusal refusal_of_op(const ir::Node* node) const;
  ops::PartRefusal refusal_of_blocks(const ir::Node* node);

  const analysis::AliasAnalysis& alias_;
  std::unordered_map<const ir::Node*, ops::PartRefusal> known_;
};

}  // namespace tierup::passes
