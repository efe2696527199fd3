// FusionPlanner's second step: a group all of whose results are only seen through views by one
// other group goes into that one, which computes it in the order of the views and stores nothing
// between. Each element is computed once as before: views that show some twice keep the groups
// apart.
#include <algorithm>

#include "tierup/passes/core/value_queries.h"
#include "tierup/passes/fuse/fusion_groups.h"

namespace tierup::passes {

using ir::Node;
using ir::Value;

namespace {

using Chains = std::map<const Value*, ViewChain>;

constexpr int64_t kManyElements = 16384;

std::optional<int64_t> elements(const Shape& shape) {
  const std::optional<IntVector> sizes = static_sizes(shape);
  return sizes ? std::optional(numel_of(*sizes)) : std::nullopt;
}

std::set<const Node*> nodes_of(const Chains& chains) {
  std::set<const Node*> nodes;
  for (const auto& [value, chain] : chains) nodes.insert(chain.nodes.begin(), chain.nodes.end());
  return nodes;
}

// Whether it may have to copy what is laid out in another way than in order, as tables are.
bool may_copy(const ViewChain& chain) {
  return std::any_of(chain.steps.begin(), chain.steps.end(), [](const ops::ViewStep& step) {
    return step.op->role() == ops::Role::kView || step.op->role() == ops::Role::kFlatten;
  });
}

bool repeats(const ViewChain& chain) {
  return std::any_of(chain.steps.begin(), chain.steps.end(), [](const ops::ViewStep& step) {
    return step.op->role() == ops::Role::kExpand;
  });
}

}  // namespace

std::optional<ViewChain> FusionPlanner::chain_of(const Value* value) const {
  return view_chain(value, [&](const Value* at) {
    return at->node() != nullptr && member_of_.contains(at->node()) && !views_.contains(at->node());
  });
}

void FusionPlanner::merge_through_views(uint32_t into) {
  if (groups_[into].row_members > 0) return;
  std::map<uint32_t, Chains> chains;  // By the group that they show.
  for (const Node* member : groups_[into].members) {
    if (views_.contains(member) || look_ups_.contains(member)) continue;
    for (const Value* input : member->inputs()) {
      if (!input->type()->is(TypeKind::kTensor)) continue;
      std::optional<ViewChain> chain = chain_of(input);
      if (!chain || chain->steps.empty()) continue;
      const uint32_t from = group_of(chain->source->node());
      if (from != into) chains[from].emplace(input, std::move(*chain));
    }
  }
  for (const auto& [from, of_group] : chains) {
    if (may_merge_through(of_group, from, into)) take_views(of_group, from, into);
  }
}

bool FusionPlanner::may_merge_through(const Chains& chains, uint32_t from, uint32_t into) const {
  const std::vector<Node*>& members = groups_[from].members;
  if (members.empty() || groups_[from].row_members > 0 || groups_[from].reads_written ||
      members.size() + groups_[into].members.size() > kMaxGroupMembers ||
      !has_room_through(chains.size(), from, into) || !shows_each_once(chains)) {
    return false;
  }
  const bool copies =
      std::any_of(chains.begin(), chains.end(), [](auto& entry) { return may_copy(entry.second); });
  if (copies && groups_[from].look_ups > 0) return false;
  const std::set<const Node*> views = nodes_of(chains);
  const Value* source = chains.begin()->second.source;  // The group's only result.
  const auto are_inside = [&](const Node* node, const Value* output) {
    const auto uses = output->uses();
    return std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
      if (use.user == nullptr || look_ups_.contains(use.user) || lists_.contains(use.user)) {
        return false;
      }
      if (views.contains(use.user)) return views.contains(node) || output == source;
      return group_of(use.user) == (views.contains(node) ? into : from);
    });
  };
  const auto stays_inside = [&](const Node* node) {
    return std::all_of(node->outputs().begin(), node->outputs().end(), [&](const Value* output) {
      return are_inside(node, output) && !alias_.has_writers(output);
    });
  };
  return std::all_of(members.begin(), members.end(), stays_inside) &&
         std::all_of(views.begin(), views.end(), stays_inside);
}

// Each input of the one group may become an operand for each chain.
bool FusionPlanner::has_room_through(size_t chains, uint32_t from, uint32_t into) const {
  const auto inputs_of = [&](uint32_t group) {
    std::set<const Value*> inputs;
    for (const Node* member : groups_[group].members) {
      if (views_.contains(member)) continue;
      for (const Value* input : member->inputs()) {
        const bool is_own = input->node() != nullptr && group_of(input->node()) == group;
        if (input->type()->is(TypeKind::kTensor) && !is_own) inputs.insert(input);
      }
    }
    return inputs.size();
  };
  // Through views that a group has already it may read an input in several ways.
  const auto loads_of = [&](uint32_t group) {
    const auto& members = groups_[group].members;
    const auto is_view = [&](const Node* node) { return views_.contains(node); };
    const auto views = std::count_if(members.begin(), members.end(), is_view);
    return inputs_of(group) * static_cast<size_t>(1 + views);
  };
  constexpr size_t kResults = 2;
  return loads_of(into) + chains * loads_of(from) + kResults <= kMaxGroupOperands;
}

// Whether the views show no element twice, of so many that it pays to work views out.
bool FusionPlanner::shows_each_once(const Chains& chains) const {
  const Value* source = chains.begin()->second.source;
  const std::optional<int64_t> all = elements(forms_.known_shape(source));
  if (!all || *all < kManyElements) return false;
  int64_t shown = 0;
  for (const auto& [value, chain] : chains) {
    const std::optional<int64_t> count = elements(forms_.known_shape(value));
    if (chain.source != source || (chains.size() > 1 && !count)) return false;
    shown += count.value_or(repeats(chain) ? *all + 1 : *all);
  }
  return shown <= *all;
}

void FusionPlanner::take_views(const Chains& chains, uint32_t from, uint32_t into) {
  std::vector<Node*>& members = groups_[into].members;
  std::vector<Node*> taken = std::exchange(groups_[from].members, {});
  for (const auto& [value, chain] : chains) {
    for (Node* node : chain.nodes) {
      if (views_.insert(node).second) taken.push_back(node);
    }
  }
  for (const Node* node : taken) member_of_[node] = into;
  members.insert(members.begin(), taken.begin(), taken.end());
}

}  // namespace tierup::passes
