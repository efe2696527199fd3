// FusionPlanner on look-ups: calls that read a table at places that a tensor names (see
// ops/regions/look_ups.h) begin a group of their own, which what reads them then joins. Table and
// index must come from outside of that group.
#include <algorithm>

#include "tierup/analysis/effects.h"
#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/fusion_groups.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;
using ops::LookUpKind;

namespace {

constexpr int64_t kManyElements = 16384;  // Working out where tables lie costs as much as a copy.
constexpr int64_t kLongRun = 8;           // Elements of an entry that lie beside one another.

struct LookUpCall {
  const Value* table = nullptr;
  const Value* index = nullptr;
  int64_t dim = 0;
  Node* list = nullptr;  // Of the indices, if there is one.
};

// The one tensor of a list that is the call's own; its place is the dimension.
bool read_list(const Node& node, LookUpCall& call) {
  Node* list = node.input(1)->node();
  if (list == nullptr || !list->is(NodeKind::kListConstruct) || list->owner() != node.owner() ||
      node.input(1)->uses().size() != 1) {
    return false;
  }
  call.list = list;
  for (size_t i = 0; i < list->inputs().size(); ++i) {
    const Value* element = list->input(i);
    const IValue* constant = constant_of(element);
    if (constant != nullptr && constant->is_none()) continue;
    if (!is_tensor(element) || call.index != nullptr) return false;
    call.index = element;
    call.dim = static_cast<int64_t>(i);
  }
  return call.index != nullptr;
}

std::optional<LookUpCall> look_up_call(const Node& node) {
  if (!node.is(NodeKind::kOp) || analysis::effects_of(node) != ir::kNoEffect) return std::nullopt;
  const LookUpKind kind = ops::op_of(*node.op()).facts().look_up;
  LookUpCall call{node.inputs().empty() ? nullptr : node.input(0), nullptr, 0, nullptr};
  switch (kind) {
    case LookUpKind::kNone: return std::nullopt;
    case LookUpKind::kIndex:
      if (!read_list(node, call)) return std::nullopt;
      return call;
    case LookUpKind::kEmbedding: call.index = node.input(1); break;
    default: {
      const IValue* dim = constant_of(node.input(1));
      if (dim == nullptr || !dim->is_int()) return std::nullopt;
      call.dim = dim->to_int();
      call.index = node.input(2);
    }
  }
  return call;
}

Shape result_shape(LookUpKind kind, const Shape& table, const Shape& index, int64_t dim) {
  if (!table || !index) return std::nullopt;
  if (kind == LookUpKind::kGather) return index;
  if (dim < 0) dim += static_cast<int64_t>(table->size());
  if (dim < 0 || dim >= static_cast<int64_t>(table->size())) return std::nullopt;
  std::vector<Dim> shape(table->begin(), table->begin() + dim);
  shape.insert(shape.end(), index->begin(), index->end());
  shape.insert(shape.end(), table->begin() + dim + 1, table->end());
  return shape;
}

// Whether kernels go over runs that are worth it: of few elements it is the whole that counts.
bool is_worth_it(const Shape& shape, bool varies_in_rows) {
  if (!shape || shape->empty()) return false;
  int64_t elements = 1;
  for (const Dim& dim : *shape) {
    if (dim.kind != Dim::Kind::kStatic) elements = kManyElements;
    if (elements < kManyElements) elements *= dim.value;
  }
  const Dim& last = shape->back();
  const bool has_runs =
      varies_in_rows || (last.kind == Dim::Kind::kStatic && last.value >= kLongRun);
  return elements >= kManyElements && has_runs;
}

}  // namespace

// Also notes the result's form and shape.
bool FusionPlanner::is_look_up(const Node& node) {
  const std::optional<LookUpCall> call = look_up_call(node);
  if (!call || !reads_only_kept_memory(node, alias_)) return false;
  for (const Value* value : {call->table, call->index}) {
    const IValue* constant = constant_of(value);
    if (!is_tensor(value) || forms_.form(value).category != ops::PromotionCategory::kDimensioned ||
        (constant != nullptr ? !constant->is_tensor() : alias_.has_writers(value))) {
      return false;
    }
  }
  if (call->list != nullptr && alias_.has_writers(node.input(1))) return false;
  const ops::ValueForm table = forms_.form(call->table);
  if (!ops::has_lanes(table.dtype) || !ops::indexes(forms_.form(call->index).dtype)) return false;
  const LookUpKind kind = ops::op_of(*node.op()).facts().look_up;
  const Shape& seen = forms_.shape(node.output());
  const Shape shape =
      seen ? seen
           : result_shape(kind, forms_.shape(call->table), forms_.shape(call->index), call->dim);
  const Shape& entries = forms_.shape(call->table);
  if (!shape || !entries) return false;
  const bool is_last = call->dim == -1 || call->dim + 1 == static_cast<int64_t>(entries->size());
  if (!is_worth_it(shape, kind == LookUpKind::kGather || is_last)) return false;
  forms_.set(node.output(), table, Shape(shape));
  return true;
}

void FusionPlanner::join_look_up(Node* node) {
  const auto group = static_cast<uint32_t>(groups_.size());
  groups_.push_back({{}, forms_.known_shape(node->output()), 0, 0});
  segments_.push_back(segment_);
  pinned_.push_back(false);
  reach_.join(*node, group);
  if (Node* list = look_up_call(*node)->list; list != nullptr) {
    lists_.insert(list);
    groups_[group].members.push_back(list);
    member_of_[list] = group;
  }
  look_ups_.insert(node);
  groups_[group].members.push_back(node);
  groups_[group].look_ups = groups_[group].members.size();
  member_of_[node] = group;
}

// Whether a look-up of one of these groups reads what another member of them makes.
bool FusionPlanner::feeds_look_ups(const GroupSet& groups) const {
  for (const uint32_t group : groups) {
    if (groups_[group].look_ups == 0) continue;
    for (const Node* member : groups_[group].members) {
      if (!look_ups_.contains(member)) continue;
      const std::optional<LookUpCall> call = look_up_call(*member);
      for (const Value* value : {call->table, call->index}) {
        if (value->node() != nullptr && groups.contains(group_of(value->node()))) return true;
      }
    }
  }
  return false;
}

// Whether a group is a look-up alone, for one reader, which broadcasts it to `shape`.
bool FusionPlanner::is_broadcast_to(const PlannedGroup& group, const Shape& shape) const {
  if (group.look_ups == 0 || group.look_ups != group.members.size() || !group.shape || !shape ||
      group.members.back()->output()->uses().size() != 1) {
    return false;
  }
  const std::vector<Dim>& own = *group.shape;
  const Dim one{Dim::Kind::kStatic, 1};
  const auto fits = [&](const Dim& dim, const Dim& whole) {
    return dim == one || (dim.kind != Dim::Kind::kUnknown && dim == whole);
  };
  return own.size() <= shape->size() && std::equal(own.rbegin(), own.rend(), shape->rbegin(), fits);
}

}  // namespace tierup::passes
