// FusionPlanner: which nodes of one block stand in which group.
//
// Nodes are taken in program order and join the groups of their producers. A group must not depend
// on itself through nodes outside of it, which is asked before a node joins (group_reach.h). All
// members end up where the last one stands, so whatever lies in between and depends on the group
// must be free to move behind it.
//
// A member that reads memory which is written somewhere must not move to the other side of a write:
// at each node that writes, such groups are complete, and so are those that they depend on, or they
// would have to wait for these.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "tierup/passes/core/pass.h"
#include "tierup/passes/core/value_forms.h"
#include "tierup/passes/core/view_chains.h"
#include "tierup/passes/fuse/group_candidates.h"
#include "tierup/passes/fuse/group_reach.h"

namespace tierup::passes {

struct PlannedGroup {
  // In program order; empty if merged into another. Some are views between the others, or lists of
  // what is joined.
  std::vector<ir::Node*> members;
  Shape shape;  // Of all of them, as far as known.
  // How many work on rows of the last dimensions; others then may have one element for each row.
  size_t row_members = 0;
  size_t row_rank = 0;         // How many dimensions those are, if there are such members.
  size_t folded = 0;           // Over how many of those, the first ones, such members go.
  size_t by_components = 0;    // How many of them a ComponentLoop serves.
  size_t look_ups = 0;         // How many read tables, or are lists of indices.
  bool reads_written = false;  // Memory that nodes write, all before it or all behind it.

  // Whether its row members fold a part of a row: then all members have the same shape, but for
  // what is made of folds alone.
  bool folds_parts() const { return folded < row_rank; }
  // Whether its short last dimension is taken apart: then members may have one element there.
  bool goes_by_components() const { return row_members > 0 && by_components == row_members; }
  // Of how many dimensions members may have one element alone.
  size_t column_rank() const { return goes_by_components() ? 1 : row_rank; }
};

class FusionPlanner {
 public:
  FusionPlanner(const analysis::AliasAnalysis& alias, ValueForms& forms)
      : alias_(alias), forms_(forms) {}

  // The forms of the block's values are set on the way.
  void plan(const ir::Block& block);
  const std::vector<PlannedGroup>& groups() const { return groups_; }
  // Operators with a body that stand alone, and why.
  const std::vector<std::pair<ir::Node*, ops::RefusedGroup>>& refused() const { return refused_; }
  // Null for a point-wise member.
  const RowCall* row_call(const ir::Node* member) const;
  // Whether a member is a view or a list, of which nothing is computed.
  bool is_view_member(const ir::Node* member) const { return views_.contains(member); }
  bool is_list_member(const ir::Node* member) const { return lists_.contains(member); }
  bool is_join_member(const ir::Node* member) const { return joins_.contains(member); }
  bool is_look_up_member(const ir::Node* member) const { return look_ups_.contains(member); }
  // From a view member's result to the point-wise member that it shows.
  std::optional<ViewChain> chain_of(const ir::Value* value) const;
  // Whether a member's result has a part of a row's dimensions.
  bool is_part(const ir::Node* member) const;
  // The elements of the last dimension of a group that goes by components; 0 if it does not.
  uint32_t components_of(const std::vector<ir::Node*>& members) const;
  // Whether a member's result lacks the dimensions of the rows, or those of them that are folded.
  bool is_flat(const ir::Node* member) const { return flat_.contains(member); }

 private:
  using GroupSet = std::set<uint32_t>;

  void visit(ir::Node* node);
  void pin_readers_of_written_memory();
  bool is_row_member(const ir::Node& node);
  bool folds_well(const RowCall& call, const ir::Node& node) const;
  bool suits_components(const RowCall& call, const ir::Node& node) const;
  bool has_rows_of(const RowCall& call, const ir::Node& node, const PlannedGroup& group) const;
  static bool have_same_rows(const PlannedGroup& a, const PlannedGroup& b);
  bool fits(const ir::Node& node, const PlannedGroup& group, bool is_flat) const;
  bool is_of(const ir::Node& node, const PlannedGroup& group) const;
  std::optional<bool> reads_flat(const ir::Node& node, const std::set<uint32_t>& groups) const;
  const Shape& space_of(const ir::Node& node) const;
  void join(ir::Node* node);
  uint32_t joined_with(const ir::Node& node, uint32_t joined, const ir::Value* input);
  bool may_join(const ir::Node& node, uint32_t group) const;
  bool may_merge(uint32_t a, uint32_t b) const;
  void merge(uint32_t into, uint32_t from);
  bool may_have_siblings(uint32_t group) const;
  std::set<uint32_t> siblings_of(uint32_t group) const;
  void merge_siblings(uint32_t group);
  void merge_through_views(uint32_t into);
  bool may_merge_through(const std::map<const ir::Value*, ViewChain>& chains, uint32_t from,
                         uint32_t into) const;
  bool has_room_through(size_t chains, uint32_t from, uint32_t into) const;
  bool shows_each_once(const std::map<const ir::Value*, ViewChain>& chains) const;
  void take_views(const std::map<const ir::Value*, ViewChain>& chains, uint32_t from,
                  uint32_t into);
  bool is_look_up(const ir::Node& node);
  void join_look_up(ir::Node* node);
  bool feeds_look_ups(const GroupSet& groups) const;
  bool is_broadcast_to(const PlannedGroup& group, const Shape& shape) const;
  void plan_joins(const ir::Block& block);
  ops::RefusedGroup join_refusal(const ir::Node& node);
  uint32_t reader_of(const ir::Node& node) const;
  int64_t run_length(const ir::Node& node) const;
  size_t work_of(uint32_t group);
  bool is_only_read_by(uint32_t group, const ir::Node* list) const;
  void join_parts(ir::Node* node);
  uint32_t group_of(const ir::Node* node) const;
  bool has_room(const std::vector<const std::vector<ir::Node*>*>& parts) const;

  static constexpr uint32_t kNone = UINT32_MAX;
  const analysis::AliasAnalysis& alias_;
  ValueForms& forms_;
  uint32_t segment_ = 0;  // Nodes on both sides of an effect stay apart.
  std::vector<PlannedGroup> groups_;
  std::vector<uint32_t> segments_;  // Of groups.
  std::vector<bool> pinned_;        // Something that cannot move depends on the group.
  GroupReach reach_;
  std::unordered_map<const ir::Node*, uint32_t> member_of_;
  std::unordered_map<const ir::Node*, RowCall> row_calls_;
  std::set<const ir::Node*> by_components_;
  std::set<const ir::Node*> flat_;
  std::set<const ir::Node*> views_;
  std::set<const ir::Node*> joins_;
  std::set<const ir::Node*> look_ups_;
  std::set<const ir::Node*> lists_;  // Of what joins join, and of indices.
  std::vector<std::pair<ir::Node*, ops::RefusedGroup>> refused_;
};

// What is left by folds of a part of rows: so many elements side by side, and pieces for threads.
inline constexpr int64_t kMinFoldLanes = 16;
inline constexpr int64_t kMinFoldPieces = 8;
// Of what is folded, for tiles of it that stages of a group go over in turn.
inline constexpr int64_t kMaxTileRows = 4096;
inline constexpr int64_t kMaxComponents = 4;  // That stand in registers beside one another.
inline constexpr size_t kMaxGroupMembers = 64;
inline constexpr size_t kMaxGroupOperands = 16;  // Inputs and outputs of a kernel.

}  // namespace tierup::passes
