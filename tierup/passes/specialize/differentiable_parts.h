// Which nodes may stand in a differentiable part of a program, and which values may enter one.
#pragma once

#include <string_view>
#include <unordered_map>

#include "tierup/analysis/alias.h"
#include "tierup/ir/graph.h"

namespace tierup::passes {

class PartMembers {
 public:
  explicit PartMembers(const analysis::AliasAnalysis& alias) : alias_(alias) {}

  // Empty if the node, and everything in its blocks, may stand in a part; else why not.
  std::string_view refusal(const ir::Node* node);
  // An operator with tensors among its results, or a node with such operators inside.
  static bool computes(const ir::Node* node);
  // Gives views of its inputs: such values do not leave a part.
  static bool makes_views(const ir::Node* node);
  // Whether a value may be an input of a part: a tensor, or something that can be compared.
  static bool may_enter(const ir::Value* value);

 private:
  std::string_view find_refusal(const ir::Node* node);
  std::string_view refusal_of_op(const ir::Node* node) const;
  std::string_view refusal_of_blocks(const ir::Node* node);

  const analysis::AliasAnalysis& alias_;
  std::unordered_map<const ir::Node*, std::string_view> known_;
};

}  // namespace tierup::passes
