// FusionPlanner's third step: groups of equal shape that read the same value, and do not wait for
// one another, become one. What they share is read once, and a call of a kernel costs as much as
// some thousand elements do: states of simulations, and gradients of the same value, come in such
// groups.
#include <algorithm>

#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/fusion_groups.h"

namespace tierup::passes {

using ir::Node;
using ir::Value;

// Nothing but points, and free to move to where a sibling stands.
bool FusionPlanner::may_have_siblings(uint32_t group) const {
  const PlannedGroup& planned = groups_[group];
  if (planned.members.empty() || planned.row_members > 0 || planned.look_ups > 0) return false;
  if (pinned_[group] || planned.reads_written || !static_sizes(planned.shape)) return false;
  return std::ranges::none_of(planned.members, [&](const Node* member) {
    return views_.contains(member) || joins_.contains(member) || lists_.contains(member);
  });
}

// Later groups that read what the group reads, of its shape, in program order.
std::set<uint32_t> FusionPlanner::siblings_of(uint32_t group) const {
  std::set<uint32_t> siblings;
  const Shape& shape = groups_[group].shape;
  for (const Node* member : groups_[group].members) {
    for (const Value* input : member->inputs()) {
      if (!is_tensor(input) || forms_.known_shape(input) != shape) continue;
      for (const ir::Use& use : input->uses()) {
        const uint32_t other = use.user == nullptr ? kNone : group_of(use.user);
        if (other == kNone || other <= group || segments_[other] != segments_[group]) continue;
        if (groups_[other].shape == shape && may_have_siblings(other)) siblings.insert(other);
      }
    }
  }
  return siblings;
}

void FusionPlanner::merge_siblings(uint32_t group) {
  if (!may_have_siblings(group)) return;
  for (const uint32_t sibling : siblings_of(group)) {
    if (has_room({&groups_[group].members, &groups_[sibling].members}) && may_merge(group, sibling))
      merge(group, sibling);
  }
}

}  // namespace tierup::passes
