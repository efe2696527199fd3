// See group_reach.h.
#include "tierup/passes/fuse/group_reach.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tierup/base/error.h"

namespace tierup::passes {

using ir::Node;
using ir::Value;

namespace {

// Steps that one search looks at.
constexpr size_t kLongSearch = 4096;

void collect_reads(const Node& node, std::vector<const Value*>& values) {
  values.insert(values.end(), node.inputs().begin(), node.inputs().end());
  for (const ir::Block* block : node.blocks()) {
    for (const Node* inner : block->nodes()) collect_reads(*inner, values);
    values.insert(values.end(), block->returns().begin(), block->returns().end());
  }
}

}  // namespace

std::vector<const Value*> values_read(const Node& node) {
  std::vector<const Value*> values;
  collect_reads(node, values);
  return values;
}

void GroupReach::add_step(const Node& node, uint32_t group) {
  const auto place = static_cast<uint32_t>(steps_.size());
  Step step;
  step.group = group;
  for (const Value* value : values_read(node)) {
    const auto producer = place_.find(value->node());
    if (producer == place_.end()) continue;
    step.reads.push_back(producer->second);
    const uint32_t other = steps_[producer->second].group;
    if (other != kNone && other != group) groups_[other].is_read = true;
  }
  std::sort(step.reads.begin(), step.reads.end());
  step.reads.erase(std::unique(step.reads.begin(), step.reads.end()), step.reads.end());
  // The tree's new entry: the greatest of those that it covers.
  const uint32_t entry = place + 1;
  uint32_t latest = 0;
  for (uint32_t at = place; at > entry - (entry & -entry); at -= at & -at) {
    latest = std::max(latest, late_[at - 1]);
  }
  late_.push_back(latest);
  place_.emplace(&node, place);
  steps_.push_back(std::move(step));
  if (group == kNone) return;
  if (group == groups_.size()) groups_.emplace_back();
  TIERUP_CHECK(group < groups_.size());
  groups_[group].members.push_back(place);
  if (groups_[group].is_read) grew_late(groups_[group]);
}

void GroupReach::merge(uint32_t into, uint32_t from) {
  Group& group = groups_[into];
  Group taken = std::exchange(groups_[from], {});
  for (const uint32_t member : taken.members) steps_[member].group = into;
  group.members.insert(group.members.end(), taken.members.begin(), taken.members.end());
  std::sort(group.members.begin(), group.members.end());
  group.is_read = group.is_read || taken.is_read;
  if (group.is_read) grew_late(group);
}

void GroupReach::grew_late(const Group& group) {
  const uint32_t until = group.members.back() + 1;
  for (size_t entry = group.members.front() + 1; entry <= late_.size(); entry += entry & -entry) {
    late_[entry - 1] = std::max(late_[entry - 1], until);
  }
}

// When the last of what a step depends on changed.
uint32_t GroupReach::changed_until(uint32_t step) const {
  while (true) {
    uint32_t latest = step;
    const auto limit = std::min<uint32_t>(step + 1, static_cast<uint32_t>(late_.size()));
    for (uint32_t entry = limit; entry > 0; entry -= entry & -entry) {
      latest = std::max(latest, late_[entry - 1]);
    }
    if (latest == step) return step;
    step = latest;
  }
}

bool GroupReach::reaches(const Value* value, uint32_t group) const {
  const auto start = place_.find(value->node());
  if (start == place_.end() || steps_[start->second].group == group) return false;
  const uint32_t begin = groups_[group].members.front();
  std::unordered_set<uint32_t> seen;          // Groups, and steps outside of them.
  std::vector<uint32_t> open{start->second};  // Steps.
  const auto number = [&](uint32_t step) {
    const uint32_t own = steps_[step].group;
    return own == kNone ? step : static_cast<uint32_t>(steps_.size()) + own;
  };
  while (!open.empty()) {
    const uint32_t step = open.back();
    open.pop_back();
    const uint32_t own = steps_[step].group;
    if (own == group) return true;
    const uint32_t last = own == kNone ? step : groups_[own].members.back();
    if (changed_until(last) < begin || !seen.insert(number(step)).second) continue;
    if (seen.size() > kLongSearch) return true;
    const auto follow = [&](uint32_t at) {
      open.insert(open.end(), steps_[at].reads.begin(), steps_[at].reads.end());
    };
    if (own == kNone) {
      follow(step);
    } else {
      std::for_each(groups_[own].members.begin(), groups_[own].members.end(), follow);
    }
  }
  return false;
}

std::vector<uint32_t> GroupReach::take_above(const Node& node) {
  std::vector<uint32_t> result;
  std::vector<uint32_t> open{place_.at(&node)};
  while (!open.empty()) {
    const uint32_t step = open.back();
    open.pop_back();
    if (std::exchange(steps_[step].is_taken, true)) continue;
    const auto& reads = steps_[step].reads;
    open.insert(open.end(), reads.begin(), reads.end());
    const uint32_t group = steps_[step].group;
    if (group == kNone || std::exchange(groups_[group].is_taken, true)) continue;
    result.push_back(group);
    open.insert(open.end(), groups_[group].members.begin(), groups_[group].members.end());
  }
  return result;
}

}  // namespace tierup::passes
