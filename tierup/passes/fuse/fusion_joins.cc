// FusionPlanner's fourth step: joined values (cat, stack). One goes into the group that alone reads
// it, or begins a group of its own, and takes in the groups whose results it alone reads: each part
// of the result is then computed where it stands, and what reads the result is computed part by
// part. Nothing is computed twice.
#include <algorithm>

#include "tierup/analysis/effects.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/fusion_groups.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::GroupRefusal;

namespace {

constexpr size_t kMaxParts = 8;           // Each is a kernel to compile.
constexpr int64_t kManyElements = 16384;  // Working out parts costs as much as small copies do.
// Elements beside one another in a part that kernels need: short bodies, and long ones, which work
// on several registers at a time.
constexpr int64_t kLongRun = 32;
constexpr int64_t kVeryLongRun = 128;
constexpr size_t kLongBody = 24;  // Expression nodes.

bool is_join(const Node& node) {
  return node.is(NodeKind::kOp) && ops::op_of(*node.op()).facts().join != ops::JoinKind::kNone;
}

// The sizes as far as they are known, from `begin` on; none if one is not.
std::optional<int64_t> product(const Shape& shape, size_t begin) {
  if (!shape) return std::nullopt;
  int64_t count = 1;
  for (size_t d = begin; d < shape->size(); ++d) {
    if ((*shape)[d].kind != Dim::Kind::kStatic) return std::nullopt;
    count *= (*shape)[d].value;
  }
  return count;
}

}  // namespace

void FusionPlanner::plan_joins(const ir::Block& block) {
  for (Node* node : block.nodes()) {
    if (!is_join(*node) || is_unused(*node)) continue;
    ops::RefusedGroup refusal = join_refusal(*node);
    if (refusal) {
      refused_.emplace_back(node, std::move(refusal));
      continue;
    }
    join_parts(node);
  }
}

// Why a join is in no group whatever stands around it.
ops::RefusedGroup FusionPlanner::join_refusal(const Node& node) {
  const Node* list = node.input(0)->node();
  if (list == nullptr || !list->is(NodeKind::kListConstruct) || list->owner() != node.owner() ||
      node.input(0)->uses().size() != 1) {
    return GroupRefusal::kSharedList;
  }
  const size_t parts = list->inputs().size();
  if (parts < 2 || parts > kMaxParts) return GroupRefusal::kPartCount;
  const IValue* dim = constant_of(node.input(1));
  if (dim == nullptr || !dim->is_int()) return GroupRefusal::kVaryingDimension;
  if (analysis::effects_of(node) != ir::kNoEffect || alias_.has_writers(node.output())) {
    return GroupRefusal::kWrittenResult;
  }
  const ops::ValueForm& form = forms_.form(list->input(0));
  for (const Value* part : list->inputs()) {
    if (!is_tensor(part)) return GroupRefusal::kNoTensor;
    if (constant_of(part) == nullptr && alias_.has_writers(part)) {
      return GroupRefusal::kWrittenMemory;
    }
    if (forms_.form(part) != form) return GroupRefusal::kSeveralDtypes;
  }
  if (!ops::has_lanes(form.dtype) || form.category != ops::PromotionCategory::kDimensioned) {
    return GroupRefusal::kNoLanes;
  }
  const Shape& shape = forms_.shape(node.output());
  const std::optional<int64_t> all = product(shape, 0);
  if (!all || *all < kManyElements) return GroupRefusal::kFewElements;
  if (run_length(node) < kLongRun) return GroupRefusal::kNarrowParts;
  return {};
}

// How many elements of an average part lie beside one another; of a join whose shape is known.
int64_t FusionPlanner::run_length(const Node& node) const {
  const Shape& shape = forms_.known_shape(node.output());
  const auto rank = static_cast<int64_t>(shape->size());
  const int64_t dim = constant_of(node.input(1))->to_int();
  const int64_t cut = dim + (dim < 0 ? rank : 0);
  if (cut < 0 || cut >= rank) return 0;
  const auto parts = static_cast<int64_t>(node.input(0)->node()->inputs().size());
  return (*shape)[static_cast<size_t>(cut)].value / parts *
         *product(shape, static_cast<size_t>(cut) + 1);
}

// The expression nodes of a group's bodies.
size_t FusionPlanner::work_of(uint32_t group) {
  kernels::ExprBuilder builder;
  for (const Node* member : groups_[group].members) {
    if (views_.contains(member) || lists_.contains(member) || look_ups_.contains(member)) continue;
    // Rows and joins work for themselves: what counts is what is built around them.
    if (ops::op_of(*member->op()).body() == nullptr) continue;
    const ops::PointwiseMeaning meaning = point_meaning(*member, forms_);
    if (meaning.build == nullptr) continue;
    const kernels::Variant& variant =
        *kernels::RunTable::instance().find(meaning.body, meaning.compute);
    std::array<kernels::ExprValue, kernels::kMaxInputs> operands;
    for (uint32_t k = 0; k < meaning.operands.size(); ++k) {
      operands[k] = builder.input(k, *kernels::lane_type(variant.in[k]));
    }
    meaning.build(operands.data());
  }
  return builder.nodes().size();
}

// The group that alone reads a joined value, point by point; none if there is none.
uint32_t FusionPlanner::reader_of(const Node& node) const {
  uint32_t reader = kNone;
  for (const ir::Use& use : node.output()->uses()) {
    const uint32_t group = use.user == nullptr ? kNone : group_of(use.user);
    if (group == kNone || views_.contains(use.user) || joins_.contains(use.user) ||
        look_ups_.contains(use.user) || lists_.contains(use.user) ||
        (reader != kNone && group != reader)) {
      return kNone;
    }
    reader = group;
  }
  if (reader == kNone) return kNone;
  const PlannedGroup& group = groups_[reader];
  const Shape& own = forms_.known_shape(node.output());
  const bool is_plain = std::none_of(
      group.members.begin(), group.members.end(),
      [&](const Node* member) { return views_.contains(member) || joins_.contains(member); });
  const bool fits = is_plain && group.row_members == 0 && group.shape && *group.shape == *own;
  return fits ? reader : kNone;
}

// Whether all that a group gives is read by these nodes alone.
bool FusionPlanner::is_only_read_by(uint32_t group, const Node* list) const {
  const PlannedGroup& planned = groups_[group];
  if (planned.members.empty() || planned.row_members > 0 || planned.reads_written) return false;
  return std::all_of(planned.members.begin(), planned.members.end(), [&](const Node* member) {
    if (joins_.contains(member)) return false;
    return std::all_of(member->outputs().begin(), member->outputs().end(), [&](const Value* value) {
      const auto uses = value->uses();
      return !alias_.has_writers(value) &&
             std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
               return use.user != nullptr && (use.user == list || group_of(use.user) == group);
             });
    });
  });
}

void FusionPlanner::join_parts(Node* node) {
  Node* list = node->input(0)->node();
  uint32_t group = reader_of(*node);
  const bool is_read = group != kNone;
  std::vector<uint32_t> made;  // The groups behind the parts.
  std::vector<Node*> members{list, node};
  const bool has_long_runs = run_length(*node) >= kVeryLongRun;
  if (is_read && !has_long_runs && work_of(group) > kLongBody) {
    refused_.emplace_back(node,
                          ops::RefusedGroup(GroupRefusal::kNarrowParts, "for what reads them"));
    return;
  }
  const auto has_room_with = [&](const std::vector<Node*>& more) {
    std::vector<const std::vector<Node*>*> all{&members, &more};
    if (is_read) all.push_back(&groups_[group].members);
    size_t count = 0;
    for (const auto* some : all) count += some->size();
    return count <= kMaxGroupMembers && has_room(all);
  };
  if (!has_room_with({})) {
    refused_.emplace_back(node, GroupRefusal::kManyOperands);
    return;
  }
  for (const Value* part : list->inputs()) {
    const uint32_t from = part->node() == nullptr ? kNone : group_of(part->node());
    if (from == kNone || from == group || std::count(made.begin(), made.end(), from) > 0 ||
        views_.contains(part->node()) || (!has_long_runs && work_of(from) > kLongBody) ||
        !is_only_read_by(from, list) || !has_room_with(groups_[from].members)) {
      continue;
    }
    made.push_back(from);
    members.insert(members.begin(), groups_[from].members.begin(), groups_[from].members.end());
  }
  if (!is_read && made.empty()) {
    refused_.emplace_back(node, GroupRefusal::kAlone);
    return;
  }
  for (const uint32_t from : made) groups_[from].members.clear();
  if (!is_read) {
    group = static_cast<uint32_t>(groups_.size());
    groups_.push_back({{}, forms_.known_shape(node->output()), 0, 0});
    segments_.push_back(segment_);
    pinned_.push_back(false);
  }
  auto& all = groups_[group].members;
  all.insert(all.begin(), members.begin(), members.end());
  for (const Node* member : members) member_of_[member] = group;
  lists_.insert(list);
  joins_.insert(node);
}

}  // namespace tierup::passes
