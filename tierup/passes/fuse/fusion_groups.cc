#include "tierup/passes/fuse/fusion_groups.h"

#include <algorithm>
#include <utility>

#include "tierup/ops/regions/fold_loop.h"
#include "tierup/ops/table/facts.h"
#include "tierup/passes/core/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

constexpr Dim kOne{Dim::Kind::kStatic, 1};

bool is_one_row(const std::vector<Dim>& shape, size_t row_rank) {
  return std::all_of(shape.end() - static_cast<ptrdiff_t>(row_rank), shape.end(),
                     [](const Dim& dim) { return dim == kOne; });
}

bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b, size_t count) {
  return std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(count), b.begin(),
                    [](const Dim& x, const Dim& y) { return !differ(x, y); });
}

// Whether two known shapes differ in the dimensions of rows alone, where one has single elements.
bool same_rows(const Shape& a, const Shape& b, size_t row_rank) {
  if (!a || !b || a->size() != b->size() || a->size() <= row_rank) return false;
  if (!is_one_row(*a, row_rank) && !is_one_row(*b, row_rank)) return false;
  return same_dims(*a, *b, a->size() - row_rank);
}

// Whether `flat` may be `whole` without the dimensions of rows.
bool fits_flat(const Shape& flat, const Shape& whole, size_t row_rank) {
  if (!flat || !whole) return true;
  return flat->size() + row_rank == whole->size() && same_dims(*flat, *whole, flat->size());
}

// Whether `part` is `whole` but with single elements in dimensions that a group folds.
bool is_part_of(const Shape& part, const PlannedGroup& group) {
  if (!part || !group.shape || part->size() != group.shape->size()) return false;
  std::vector<Dim> wanted = *group.shape;
  std::fill_n(wanted.end() - static_cast<ptrdiff_t>(group.row_rank), group.folded, kOne);
  return same_dims(*part, wanted, wanted.size());
}

// Whether `flat` is what a group folds without the dimensions that are folded.
bool is_flat_part_of(const Shape& flat, const PlannedGroup& group) {
  if (!flat || !group.shape) return false;
  std::vector<Dim> wanted = *group.shape;
  const auto first = wanted.end() - static_cast<ptrdiff_t>(group.row_rank);
  wanted.erase(first, first + static_cast<ptrdiff_t>(group.folded));
  return flat->size() == wanted.size() && same_dims(*flat, wanted, wanted.size());
}

// Whether tiles over all that a group folds are small.
bool has_small_tiles(const PlannedGroup& group) {
  const std::optional<IntVector> sizes = static_sizes(group.shape);
  if (!sizes) return false;
  const size_t first = sizes->size() - group.row_rank;
  int64_t folded = 1;
  for (size_t d = first; d < first + group.folded; ++d) folded *= (*sizes)[d];
  return folded <= kMaxTileRows;
}

// Takes what is known of `more`, and its rows if those are longer ones.
void widen(Shape& shape, const Shape& more, size_t row_rank) {
  if (!shape || (more && more->size() == shape->size() && shape->size() >= row_rank &&
                 is_one_row(*shape, row_rank))) {
    shape = more;
  }
}

}  // namespace

void FusionPlanner::plan(const ir::Block& block) {
  for (Node* node : block.nodes()) visit(node);
  for (uint32_t group = 0; group < groups_.size(); ++group) merge_through_views(group);
  for (uint32_t group = 0; group < groups_.size(); ++group) merge_siblings(group);
  plan_joins(block);
}

void FusionPlanner::visit(Node* node) {
  if (alias_.has_effects(node)) ++segment_;
  const bool is_used = !is_unused(*node);
  if (is_used && is_row_member(*node)) return join(node);
  if (is_used && is_look_up(*node)) return join_look_up(node);
  const bool has_body =
      is_used && node->is(NodeKind::kOp) && ops::op_of(*node->op()).body() != nullptr;
  if (has_body) {
    ops::RefusedGroup refusal = point_refusal(*node, alias_, forms_);
    if (!refusal) return join(node);
    refused_.emplace_back(node, std::move(refusal));
  }
  for (const Value* output : node->outputs()) forms_.form(output);
  reach_.add(*node);
  if (alias_.writes_anything(node)) pin_readers_of_written_memory();
  if (can_move(*node, alias_)) return;
  for (const uint32_t group : reach_.take_above(*node)) pinned_[group] = true;
}

void FusionPlanner::pin_readers_of_written_memory() {
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].reads_written || pinned_[group]) continue;
    for (const Node* member : groups_[group].members) {
      for (const uint32_t above : reach_.take_above(*member)) pinned_[above] = true;
    }
  }
}

const RowCall* FusionPlanner::row_call(const Node* member) const {
  const auto found = row_calls_.find(member);
  return found == row_calls_.end() ? nullptr : &found->second;
}

bool FusionPlanner::is_row_member(const Node& node) {
  std::optional<RowCall> call = row_call_of(node, alias_, forms_);
  if (!call) return false;
  const bool by_components = suits_components(*call, node);
  if (call->goes_over_part() && !by_components && !folds_well(*call, node)) return false;
  if (by_components) by_components_.insert(&node);
  row_calls_.emplace(&node, *std::move(call));
  return true;
}

bool has_fold_lanes(ops::FoldKind fold, ScalarType dtype) {
  return dtype == ScalarType::kFloat || dtype == ScalarType::kDouble ||
         (dtype == ScalarType::kLong && fold == ops::FoldKind::kSum);
}

// Whether a call on a part of rows is made of folds whose kernels take less time than kernels that
// make and read what they fold: with as many elements side by side as lanes have, and pieces for
// threads, which are narrower if tiles of them are small.
bool FusionPlanner::folds_well(const RowCall& call, const Node& node) const {
  const ops::FoldKind fold = ops::fold_kind_of(ops::op_of(*node.op()), call.arguments);
  const std::optional<IntVector> sizes = static_sizes(forms_.known_shape(node.input(0)));
  if (fold == ops::FoldKind::kNone || !call.more.empty() || !sizes ||
      !has_fold_lanes(fold, call.meaning.result.dtype)) {
    return false;
  }
  const size_t first = sizes->size() - call.meaning.row_rank;
  int64_t outer = 1;
  int64_t folded = 1;
  int64_t kept = 1;
  for (size_t d = 0; d < sizes->size(); ++d) {
    (d < first ? outer : d < first + call.meaning.folded ? folded : kept) *= (*sizes)[d];
  }
  const bool is_small = folded <= kMaxTileRows;
  const int64_t piece = is_small ? ops::kNarrowFoldPiece : ops::kFoldPiece;
  const int64_t pieces = outer * ((kept + piece - 1) / piece);
  return kept >= kMinFoldLanes && pieces >= kMinFoldPieces && (is_small || ops::is_one_fold(fold));
}

// Whether a fold is one over a short last dimension, or over what ends before it, with as many
// elements before that as lanes have; and, if they are folded, pieces for threads.
bool FusionPlanner::suits_components(const RowCall& call, const Node& node) const {
  const ops::FoldKind fold = ops::op_of(*node.op()).facts().fold;
  const std::optional<IntVector> sizes = static_sizes(forms_.known_shape(node.input(0)));
  if (!ops::is_one_fold(fold) || !has_fold_lanes(fold, call.meaning.result.dtype) || !sizes ||
      sizes->size() < 2 || sizes->back() > kMaxComponents ||
      (*sizes)[sizes->size() - 2] < kMinFoldLanes) {
    return false;
  }
  if (!call.goes_over_part()) {
    return call.meaning.row_rank == 1 && call.meaning.space == ops::RowSpace::kColumn &&
           sizes->back() > 1;
  }
  int64_t pieces = 1;
  for (size_t d = 0; d + call.meaning.row_rank < sizes->size(); ++d) pieces *= (*sizes)[d];
  return ops::is_part(call.meaning.space) && call.meaning.folded + 1 == call.meaning.row_rank &&
         pieces >= kMinFoldPieces;
}

uint32_t FusionPlanner::components_of(const std::vector<Node*>& members) const {
  int64_t components = 0;
  for (const Node* member : members) {
    if (row_call(member) != nullptr && !by_components_.contains(member)) return 0;
    if (row_call(member) == nullptr) continue;
    const Shape& space = space_of(*member);
    components = std::max(components, space->back().value);
  }
  if (components == 0) return 0;
  for (const Node* member : members) {
    const Shape& space = space_of(*member);
    if (space && !space->empty()) components = std::max(components, space->back().value);
  }
  return static_cast<uint32_t>(components);
}

// Whether a call's rows are those of the group's.
bool FusionPlanner::has_rows_of(const RowCall& call, const Node& node,
                                const PlannedGroup& group) const {
  const bool by_components = by_components_.contains(&node);
  if (group.row_members == 0) return true;
  if (call.meaning.row_rank == group.row_rank && call.meaning.folded == group.folded) {
    return !group.folds_parts() || by_components == group.goes_by_components();
  }
  return by_components && group.goes_by_components() &&
         (!call.goes_over_part() || !group.folds_parts());
}

bool FusionPlanner::have_same_rows(const PlannedGroup& a, const PlannedGroup& b) {
  if (a.row_members == 0 || b.row_members == 0) return true;
  const bool by_components = a.goes_by_components() && b.goes_by_components();
  if (a.row_rank == b.row_rank && a.folded == b.folded) {
    return !a.folds_parts() || a.goes_by_components() == b.goes_by_components();
  }
  return by_components && (!a.folds_parts() || !b.folds_parts());
}

bool FusionPlanner::is_part(const Node* member) const {
  const RowCall* call = row_call(member);
  return call != nullptr && ops::is_part(call->meaning.space);
}

// The shape of what a node goes over.
const Shape& FusionPlanner::space_of(const Node& node) const {
  return forms_.known_shape(row_call(&node) != nullptr ? node.input(0) : node.output());
}

// Whether a node's shape is the group's; where there are rows, it may have one element for each.
bool FusionPlanner::fits(const Node& node, const PlannedGroup& group, bool is_flat) const {
  const Shape& own = space_of(node);
  const RowCall* call = row_call(&node);
  if (is_flat && group.folds_parts()) return is_flat_part_of(own, group) && is_of(node, group);
  if (is_flat) return fits_flat(own, group.shape, group.row_rank);
  if (call != nullptr && !has_rows_of(*call, node, group)) return false;
  const bool is_by_components =
      call != nullptr ? by_components_.contains(&node) : group.goes_by_components();
  const bool folds_parts = group.folds_parts() || (call != nullptr && call->goes_over_part());
  if (is_by_components && folds_parts) {
    return group.look_ups == 0 && (!differ(own, group.shape) || same_rows(own, group.shape, 1));
  }
  if (group.folds_parts() || (call != nullptr && call->goes_over_part())) {
    return group.look_ups == 0 &&
           (!differ(own, group.shape) || (call == nullptr && is_part_of(own, group)));
  }
  if (!differ(own, group.shape) || (call == nullptr && is_broadcast_to(group, own))) return true;
  if (group.row_members == 0 && call == nullptr) return false;
  return same_rows(own, group.shape, call != nullptr ? call->meaning.row_rank : group.row_rank);
}

// Whether all that a node reads, but for numbers, is made by the group.
bool FusionPlanner::is_of(const Node& node, const PlannedGroup& group) const {
  return std::ranges::all_of(node.inputs(), [&](const Value* input) {
    return !is_tensor(input) ||
           forms_.form(input).category != ops::PromotionCategory::kDimensioned ||
           std::ranges::find(group.members, input->node()) != group.members.end();
  });
}

// Whether what a node reads of these groups lacks the dimensions of rows, or those that are folded;
// none if it cannot say: if some does and some does not, if a row member reads anything but whole
// rows, or if what is folded would have to come to another tile.
std::optional<bool> FusionPlanner::reads_flat(const Node& node, const GroupSet& groups) const {
  std::optional<bool> result;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Node* producer = node.input(i)->node();
    if (producer == nullptr || !groups.contains(group_of(producer))) continue;
    if (is_part(producer) &&
        (by_components_.contains(producer) || !has_small_tiles(groups_[group_of(producer)]))) {
      return std::nullopt;
    }
    const bool flat = is_flat(producer);
    if (row_call(&node) != nullptr && (i > 0 || flat)) return std::nullopt;
    if (result.value_or(flat) != flat) return std::nullopt;
    result = flat;
  }
  return result.value_or(false);
}

uint32_t FusionPlanner::group_of(const Node* node) const {
  const auto found = member_of_.find(node);
  return found == member_of_.end() ? kNone : found->second;
}

bool FusionPlanner::may_join(const Node& node, uint32_t group) const {
  if (pinned_[group] || segments_[group] != segment_) return false;
  if (groups_[group].members.size() >= kMaxGroupMembers) return false;
  const std::optional<bool> flat = reads_flat(node, {group});
  if (!flat || !fits(node, groups_[group], *flat)) return false;
  return std::none_of(node.inputs().begin(), node.inputs().end(),
                      [&](const Value* input) { return reach_.reaches(input, group); });
}

bool FusionPlanner::may_merge(uint32_t a, uint32_t b) const {
  if (groups_[a].members.size() + groups_[b].members.size() > kMaxGroupMembers ||
      feeds_look_ups({a, b})) {
    return false;
  }
  const size_t row_rank = std::max(groups_[a].row_rank, groups_[b].row_rank);
  const size_t folded = std::max(groups_[a].folded, groups_[b].folded);
  if (!have_same_rows(groups_[a], groups_[b])) return false;
  const bool by_components = groups_[a].goes_by_components() || groups_[b].goes_by_components();
  for (const uint32_t group : {a, b}) {
    if (folded < row_rank && groups_[group].look_ups > 0) return false;
    for (const Node* member : groups_[group].members) {
      const std::optional<bool> flat = reads_flat(*member, {a, b});
      if (!flat || (row_call(member) == nullptr && *flat != is_flat(member))) return false;
    }
  }
  if (differ(groups_[a].shape, groups_[b].shape) &&
      !is_broadcast_to(groups_[a], groups_[b].shape) &&
      !is_broadcast_to(groups_[b], groups_[a].shape) &&
      (row_rank == 0 || (folded < row_rank && !by_components) ||
       !same_rows(groups_[a].shape, groups_[b].shape, by_components ? 1 : row_rank))) {
    return false;
  }
  const auto depends = [&](uint32_t from, uint32_t on) {
    for (const Node* member : groups_[from].members) {
      for (const Value* input : member->inputs()) {
        if (reach_.reaches(input, on)) return true;
      }
    }
    return false;
  };
  return !depends(a, b) && !depends(b, a);
}

// Whether the parts together have few enough inputs and results.
bool FusionPlanner::has_room(const std::vector<const std::vector<Node*>*>& parts) const {
  std::set<const Node*> members;
  for (const auto* part : parts) members.insert(part->begin(), part->end());
  std::set<const Value*> inputs;
  size_t outputs = 0;
  for (const Node* member : members) {
    for (const Value* input : member->inputs()) {
      if (is_tensor(input) && !members.contains(input->node())) inputs.insert(input);
    }
    if (lists_.contains(member)) continue;
    for (const Value* output : member->outputs()) {
      const auto uses = output->uses();
      outputs += std::any_of(uses.begin(), uses.end(),
                             [&](const ir::Use& use) { return !members.contains(use.user); })
                     ? 1
                     : 0;
    }
  }
  return inputs.size() + outputs <= kMaxGroupOperands;
}

// Takes the group of an input into that which the node joins, or begins with it; none if it cannot.
uint32_t FusionPlanner::joined_with(const Node& node, uint32_t joined, const Value* input) {
  if (input->node() == nullptr || input->node()->owner() != node.owner()) return joined;
  const uint32_t group = group_of(input->node());
  if (group == kNone || group == joined) return joined;
  const std::vector<Node*> alone{const_cast<Node*>(&node)};
  if (joined == kNone) {
    const bool joins = has_room({&alone, &groups_[group].members}) && may_join(node, group);
    return joins ? group : kNone;
  }
  if (has_room({&alone, &groups_[joined].members, &groups_[group].members}) &&
      reads_flat(node, {joined, group}) == reads_flat(node, {joined}) && may_join(node, group) &&
      may_merge(joined, group)) {
    merge(joined, group);
  }
  return joined;
}

void FusionPlanner::join(Node* node) {
  uint32_t joined = kNone;
  for (const Value* input : node->inputs()) joined = joined_with(*node, joined, input);
  if (joined == kNone) {
    joined = static_cast<uint32_t>(groups_.size());
    groups_.push_back({{}, space_of(*node), 0, 0});
    segments_.push_back(segment_);
    pinned_.push_back(false);
  }
  reach_.join(*node, joined);
  const RowCall* call = row_call(node);
  const bool reads_flat_values = *reads_flat(*node, {joined});
  if (call != nullptr) {
    ++groups_[joined].row_members;
    groups_[joined].by_components += by_components_.contains(node) ? 1 : 0;
    if (!groups_[joined].folds_parts()) {
      groups_[joined].row_rank = call->meaning.row_rank;
      groups_[joined].folded = call->meaning.folded;
    }
  }
  if (call == nullptr && is_broadcast_to(groups_[joined], space_of(*node))) {
    groups_[joined].shape = space_of(*node);
  }
  if (!reads_flat_values) {
    widen(groups_[joined].shape, space_of(*node), groups_[joined].column_rank());
  }
  const bool is_flat_part = call != nullptr && call->meaning.space == ops::RowSpace::kFlatPart &&
                            !by_components_.contains(node);
  if (call != nullptr ? call->meaning.space == ops::RowSpace::kFlat || is_flat_part
                      : reads_flat_values) {
    flat_.insert(node);
  }
  groups_[joined].members.push_back(node);
  groups_[joined].reads_written |= !reads_only_kept_memory(*node, alias_);
  member_of_[node] = joined;
}

// Nothing names `from` afterwards.
void FusionPlanner::merge(uint32_t into, uint32_t from) {
  auto& members = groups_[into].members;
  reach_.merge(into, from);
  if (is_broadcast_to(groups_[into], groups_[from].shape)) {
    groups_[into].shape = groups_[from].shape;
  }
  for (Node* member : groups_[from].members) member_of_[member] = into;
  std::vector<Node*> both;
  both.reserve(members.size() + groups_[from].members.size());
  for (const auto* part : {&members, &groups_[from].members}) {
    both.insert(both.end(), part->begin(), part->end());
  }
  members = std::move(both);
  groups_[from].members.clear();
  const size_t row_members = std::exchange(groups_[from].row_members, 0);
  groups_[into].row_rank = std::max(groups_[into].row_rank, groups_[from].row_rank);
  groups_[into].folded = std::max(groups_[into].folded, groups_[from].folded);
  groups_[into].row_members += row_members;
  groups_[into].by_components += std::exchange(groups_[from].by_components, 0);
  widen(groups_[into].shape, groups_[from].shape, groups_[into].column_rank());
  groups_[into].look_ups += std::exchange(groups_[from].look_ups, 0);
  groups_[into].reads_written |= groups_[from].reads_written;
}

}  // namespace tierup::passes
