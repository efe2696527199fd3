#include "tierup/passes/fusion_groups.h"

#include <algorithm>
#include <utility>

#include "tierup/passes/value_queries.h"

namespace tierup::passes {

using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

constexpr size_t kMaxMembers = 64;
constexpr size_t kMaxOperands = 16;  // Inputs and outputs of a kernel.

void collect_reads(const Node& node, std::vector<const Value*>& values) {
  values.insert(values.end(), node.inputs().begin(), node.inputs().end());
  for (const ir::Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) collect_reads(*inner, values);
    values.insert(values.end(), block->returns().begin(), block->returns().end());
  }
}

bool is_tensor(const Value* value) { return value->type()->is(TypeKind::kTensor); }

constexpr Dim kOne{Dim::Kind::kStatic, 1};

// Whether two known shapes differ in the last dimension alone, where one has a single element.
bool same_rows(const Shape& a, const Shape& b) {
  if (!a || !b || a->size() != b->size() || a->size() < 2) return false;
  if (a->back() != kOne && b->back() != kOne) return false;
  return std::equal(a->begin(), a->end() - 1, b->begin(),
                    [](const Dim& x, const Dim& y) { return !differ(x, y); });
}

// Takes what is known of `more`, and its last dimension if that is the longer one.
void widen(Shape& shape, const Shape& more) {
  if (!shape || (more && !more->empty() && !shape->empty() && shape->back() == kOne)) shape = more;
}

}  // namespace

std::vector<const Value*> values_read(const Node& node) {
  std::vector<const Value*> values;
  collect_reads(node, values);
  return values;
}

void FusionPlanner::plan(const ir::Block& block) {
  for (Node* node : block.nodes()) visit(node);
}

void FusionPlanner::visit(Node* node) {
  if (alias_.has_effects(node)) ++segment_;
  if (is_row_member(*node)) return join(node);
  const bool has_body = node->is(NodeKind::kOp) && ops::op_of(*node->op()).body() != nullptr;
  if (has_body) {
    std::string refusal = refusal_of(*node);
    if (refusal.empty()) return join(node);
    refused_.emplace_back(node, std::move(refusal));
  }
  for (const Value* output : node->outputs()) forms_.form(output);
  GroupSet reached = closure(above(*node));
  if (!can_move(*node)) {
    for (const uint32_t group : reached) pinned_[group] = true;
  }
  node_above_.emplace(node, std::move(reached));
}

std::string FusionPlanner::refusal_of(const Node& node) {
  if (node.op()->effects() != ir::kNoEffect) return "it may raise or depends on more";
  if (node.outputs().size() != 1 || !is_tensor(node.output())) return "its result is no tensor";
  bool has_tensor = false;
  for (const Value* input : node.inputs()) {
    const IValue* constant = constant_of(input);
    if (is_tensor(input)) {
      has_tensor = true;
      if (constant != nullptr && !constant->is_tensor()) return "an argument is undefined";
      if (constant == nullptr && alias_.has_writers(input))
        return "it reads memory that is written";
    } else if (constant == nullptr) {
      return "a number among its arguments is no constant";
    }
  }
  if (!has_tensor) return "it has no tensor";
  if (alias_.has_writers(node.output())) return "its result is written later";
  return meaning_refusal(node);
}

bool FusionPlanner::reads_only_kept_memory(const Node& node) const {
  const auto is_written = [&](const Value* value) {
    return is_tensor(value) && constant_of(value) == nullptr && alias_.has_writers(value);
  };
  return std::none_of(node.inputs().begin(), node.inputs().end(), is_written) &&
         !alias_.has_writers(node.output());
}

bool folds_rows(const Node& node) { return role_of(node) == ops::Role::kRowReduction; }

// Over the last dimension, which stays with one element, of a float tensor of known shape.
bool FusionPlanner::is_row_member(const Node& node) {
  if (!folds_rows(node) || !reads_only_kept_memory(node)) return false;
  const Value* self = node.input(0);
  const Shape& shape = forms_.shape(self);
  if (forms_.form(self).dtype != ScalarType::kFloat || !shape || shape->size() < 2) return false;
  const auto& arguments = node.op()->schema().arguments;
  for (size_t i = 1; i < node.inputs().size(); ++i) {
    const std::optional<IValue> value = known_argument(node.input(i));
    if (!value) return false;
    const std::string& name = arguments[i].name;
    if (name == "dim") {
      if (!value->is_list() || value->to_list().items.size() != 1 ||
          value->to_list().items[0].to_int() != -1) {
        return false;
      }
    } else if (name == "keepdim") {
      if (!value->to_bool()) return false;
    } else if (name == "dtype" && !value->is_none()) {
      return false;
    }
  }
  std::vector<Dim> result = *shape;
  result.back() = {Dim::Kind::kStatic, 1};
  forms_.set(node.output(), ops::ValueForm(forms_.form(self)), std::move(result));
  return true;
}

// The shape of what a node goes over.
const Shape& FusionPlanner::space_of(const Node& node) const {
  return forms_.known_shape(folds_rows(node) ? node.input(0) : node.output());
}

// Whether a node's shape is the group's; where rows are folded, it may have one element a row.
bool FusionPlanner::fits(const Node& node, const PlannedGroup& group) const {
  const Shape& own = space_of(node);
  if (!differ(own, group.shape)) return true;
  if (group.row_members == 0 && !folds_rows(node)) return false;
  return same_rows(own, group.shape);
}

// Also notes the result's form and shape.
std::string FusionPlanner::meaning_refusal(const Node& node) {
  std::vector<ops::MeaningArgument> arguments;
  Shape shape = std::vector<Dim>{};
  for (const Value* input : node.inputs()) {
    if (!is_tensor(input)) {
      arguments.push_back({std::nullopt, *constant_of(input)});
      continue;
    }
    arguments.push_back({forms_.form(input), IValue()});
    shape = broadcast(shape, forms_.shape(input));
  }
  const ops::PointwiseMeaning meaning = meaning_of(ops::op_of(*node.op()), arguments);
  if (!meaning.refusal.empty()) return meaning.refusal;
  const Shape& seen = forms_.shape(node.output());
  forms_.set(node.output(), meaning.result, seen ? Shape(seen) : shape);
  return {};
}

bool FusionPlanner::can_move(const Node& node) const {
  if (!node.blocks().empty() || alias_.has_effects(&node) || alias_.writes_anything(&node)) {
    return false;
  }
  const auto is_written = [&](const Value* value) { return alias_.has_writers_inside(value); };
  return std::none_of(node.inputs().begin(), node.inputs().end(), is_written) &&
         std::none_of(node.outputs().begin(), node.outputs().end(), is_written);
}

uint32_t FusionPlanner::group_of(const Node* node) const {
  const auto found = member_of_.find(node);
  return found == member_of_.end() ? kNone : found->second;
}

// The groups directly or through outside nodes above a node.
FusionPlanner::GroupSet FusionPlanner::above(const Node& node) const {
  GroupSet result;
  for (const Value* value : values_read(node)) {
    if (value->node() == nullptr) continue;
    const uint32_t group = group_of(value->node());
    if (group != kNone) result.insert(group);
    const auto known = node_above_.find(value->node());
    if (known != node_above_.end()) result.insert(known->second.begin(), known->second.end());
  }
  return result;
}

FusionPlanner::GroupSet FusionPlanner::closure(GroupSet groups) const {
  std::vector<uint32_t> open(groups.begin(), groups.end());
  while (!open.empty()) {
    const uint32_t group = open.back();
    open.pop_back();
    for (const uint32_t next : group_above_[group]) {
      if (groups.insert(next).second) open.push_back(next);
    }
  }
  return groups;
}

// Whether computing `value` needs the group, other than by being its member.
bool FusionPlanner::reaches(const Value* value, uint32_t group) const {
  if (value->node() == nullptr) return false;
  const uint32_t own = group_of(value->node());
  if (own == group) return false;
  GroupSet start;
  if (own != kNone) {
    start.insert(own);
  } else if (const auto known = node_above_.find(value->node()); known != node_above_.end()) {
    start = known->second;
  }
  return closure(std::move(start)).contains(group);
}

bool FusionPlanner::may_join(const Node& node, uint32_t group) const {
  if (pinned_[group] || segments_[group] != segment_) return false;
  if (groups_[group].members.size() >= kMaxMembers) return false;
  if (!fits(node, groups_[group])) return false;
  return std::none_of(node.inputs().begin(), node.inputs().end(),
                      [&](const Value* input) { return reaches(input, group); });
}

bool FusionPlanner::may_merge(uint32_t a, uint32_t b) const {
  if (groups_[a].members.size() + groups_[b].members.size() > kMaxMembers) return false;
  if (differ(groups_[a].shape, groups_[b].shape) &&
      (groups_[a].row_members + groups_[b].row_members == 0 ||
       !same_rows(groups_[a].shape, groups_[b].shape))) {
    return false;
  }
  const auto depends = [&](uint32_t from, uint32_t on) {
    for (const Node* member : groups_[from].members) {
      for (const Value* input : member->inputs()) {
        if (reaches(input, on)) return true;
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
    const auto uses = member->output()->uses();
    outputs += std::any_of(uses.begin(), uses.end(),
                           [&](const ir::Use& use) { return !members.contains(use.user); })
                   ? 1
                   : 0;
  }
  return inputs.size() + outputs <= kMaxOperands;
}

void FusionPlanner::join(Node* node) {
  uint32_t joined = kNone;
  const std::vector<Node*> alone{node};
  for (const Value* input : node->inputs()) {
    if (input->node() == nullptr || input->node()->owner() != node->owner()) continue;
    const uint32_t group = group_of(input->node());
    if (group == kNone || group == joined || !may_join(*node, group)) continue;
    if (joined == kNone) {
      if (has_room({&alone, &groups_[group].members})) joined = group;
    } else if (may_merge(joined, group) &&
               has_room({&alone, &groups_[joined].members, &groups_[group].members})) {
      merge(joined, group);
    }
  }
  if (joined == kNone) {
    joined = static_cast<uint32_t>(groups_.size());
    groups_.push_back({{}, space_of(*node), 0});
    segments_.push_back(segment_);
    pinned_.push_back(false);
    group_above_.emplace_back();
  }
  GroupSet reached = above(*node);
  reached.erase(joined);
  group_above_[joined].insert(reached.begin(), reached.end());
  widen(groups_[joined].shape, space_of(*node));
  groups_[joined].row_members += folds_rows(*node) ? 1 : 0;
  groups_[joined].members.push_back(node);
  member_of_[node] = joined;
}

// Nothing names `from` afterwards.
void FusionPlanner::merge(uint32_t into, uint32_t from) {
  auto& members = groups_[into].members;
  for (Node* member : groups_[from].members) member_of_[member] = into;
  std::vector<Node*> both;
  both.reserve(members.size() + groups_[from].members.size());
  for (const auto* part : {&members, &groups_[from].members}) {
    both.insert(both.end(), part->begin(), part->end());
  }
  members = std::move(both);
  groups_[from].members.clear();
  const size_t row_members = std::exchange(groups_[from].row_members, 0);
  widen(groups_[into].shape, groups_[from].shape);
  groups_[into].row_members += row_members;
  group_above_[into].insert(group_above_[from].begin(), group_above_[from].end());
  const auto rename = [&](GroupSet& set) {
    if (set.erase(from) > 0) set.insert(into);
  };
  for (GroupSet& set : group_above_) rename(set);
  for (auto& [node, set] : node_above_) rename(set);
  group_above_[into].erase(into);
}

}  // namespace tierup::passes
