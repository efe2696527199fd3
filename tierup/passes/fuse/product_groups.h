// ProductPlanner: which nodes of one block stand in which group around small matrix products.
//
// Everything in such a group is small, and its sizes were seen: products, point-wise operators and
// operators over rows of them, of whatever shapes, and views between them. What runs one
// (ops/regions/matrix_loop.h) works its layout out once for sizes, so that a run is a few calls of
// kernels; members gain their steps' calls and the memory between them.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tierup/ops/regions/product_kinds.h"
#include "tierup/passes/fuse/group_candidates.h"
#include "tierup/passes/fuse/group_reach.h"

namespace tierup::passes {

struct ProductGroup {
  std::vector<ir::Node*> members;  // In program order; empty if merged into another.
  std::vector<ir::Node*> views;    // Of their values.
  size_t products = 0;
  size_t row_rank = 0;  // Of members that work on rows; 0 if there are none.
};

class ProductPlanner {
 public:
  ProductPlanner(const analysis::AliasAnalysis& alias, ValueForms& forms)
      : alias_(alias), forms_(forms) {}

  // The forms of the block's values are set on the way.
  void plan(const ir::Block& block);
  const std::vector<ProductGroup>& groups() const { return groups_; }
  // Products that are no members, and why.
  const std::vector<std::pair<ir::Node*, ops::RefusedGroup>>& refused() const { return refused_; }
  // Null for other members than those on rows.
  const RowCall* row_call(const ir::Node* member) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void visit(ir::Node* node);
  bool is_candidate(ir::Node* node);
  ops::RefusedGroup product_refusal(const ir::Node& node);
  ops::RefusedGroup size_refusal(const ir::Node& node, ops::ProductKind kind);
  bool is_small(const ir::Value* value);
  bool is_view_of_member(const ir::Node& node) const;
  bool find_view_shapes(const ir::Node& node);
  void join(ir::Node* node);
  uint32_t joined_with(const ir::Node& node, uint32_t joined, const ir::Value* input);
  bool may_grow(uint32_t group) const;
  bool may_join(const ir::Node& node, uint32_t group) const;
  bool may_merge(uint32_t a, uint32_t b) const;
  bool depends(uint32_t from, uint32_t on) const;
  void merge(uint32_t into, uint32_t from);
  uint32_t group_of(const ir::Value* value) const;

  const analysis::AliasAnalysis& alias_;
  ValueForms& forms_;
  uint32_t segment_ = 0;  // Nodes on both sides of an effect stay apart.
  std::vector<ProductGroup> groups_;
  std::vector<uint32_t> segments_;  // Of groups.
  std::vector<bool> pinned_;        // Something that cannot move depends on the group.
  GroupReach reach_;
  std::unordered_map<const ir::Node*, uint32_t> group_of_;  // Of members and views.
  std::unordered_set<const ir::Node*> views_;
  std::unordered_map<const ir::Node*, RowCall> row_calls_;
  std::vector<std::pair<ir::Node*, ops::RefusedGroup>> refused_;
};

// Whether a node multiplies matrices.
bool is_product(const ir::Node& node);

}  // namespace tierup::passes
