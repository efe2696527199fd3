// See shared_groups.h.
#include "tierup/passes/fuse/shared_groups.h"

#include <algorithm>

#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ops::FusionGroup;
using ops::GroupArgument;
using ops::GroupMember;
using ops::GroupProgram;

namespace {

bool same_argument(const GroupArgument& a, const GroupArgument& b) {
  return a.source == b.source && a.index == b.index && a.chain == b.chain &&
         same_constant(a.constant, b.constant) && same_constant(a.from_back, b.from_back);
}

bool same_member(const GroupMember& a, const GroupMember& b) {
  return a.op == b.op && a.by_rows == b.by_rows && a.joins == b.joins && a.looks_up == b.looks_up &&
         a.result == b.result && a.space == b.space && a.turned == b.turned &&
         std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                    same_argument);
}

bool same_constants(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return same_constant(IValue(x), IValue(y));
  });
}

// Groups that read through views are taken for different.
bool same_program(const GroupProgram& a, const GroupProgram& b) {
  return a.chains.empty() && b.chains.empty() && a.input_count == b.input_count &&
         a.outputs == b.outputs && same_constants(a.constants, b.constants) &&
         a.row_rank == b.row_rank && a.rank == b.rank && a.components == b.components &&
         std::equal(a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
                    same_member);
}

}  // namespace

Ref<FusionGroup> SharedGroups::shared(Ref<FusionGroup> group) {
  const auto known =
      std::find_if(groups_.begin(), groups_.end(), [&](const Ref<FusionGroup>& other) {
        return other->expected() == group->expected() &&
               other->expected_uniform() == group->expected_uniform() &&
               other->expected_still() == group->expected_still() &&
               other->expected_short_row() == group->expected_short_row() &&
               other->expected_sizes() == group->expected_sizes() &&
               same_program(other->program(), group->program());
      });
  if (known != groups_.end()) return *known;
  groups_.push_back(group);
  return group;
}

}  // namespace tierup::passes
