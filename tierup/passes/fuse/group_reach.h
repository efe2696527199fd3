// GroupReach: whether a value depends on a group, while the groups of a block grow.
//
// A group counts as one: who reads one of its members depends on all that any member reads. The
// search goes upwards and leaves out what was complete before the group began, so that it stays
// near it, also in long graphs: numbers of steps stand for time. What a step depends on was
// complete when the step came, but for groups that took members in afterwards though others had
// read them: who depends on one depends on steps up to its last member, whenever that came in.
// `late_` knows of those.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tierup/ir/graph.h"

namespace tierup::passes {

// Everything that a node, or a node inside its blocks, reads.
std::vector<const ir::Value*> values_read(const ir::Node& node);

class GroupReach {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The next node of the block, in program order, outside of groups.
  void add(const ir::Node& node) { add_step(node, kNone); }
  // The next node, as a member; groups are numbered without gaps.
  void join(const ir::Node& node, uint32_t group) { add_step(node, group); }
  // Nothing names `from` afterwards.
  void merge(uint32_t into, uint32_t from);
  // Whether computing `value` needs the group, other than by being its member. Says yes too where
  // the search grows long.
  bool reaches(const ir::Value* value, uint32_t group) const;
  // The groups that a node, already there, depends on, but for those that an earlier call named:
  // which must not change any more.
  std::vector<uint32_t> take_above(const ir::Node& node);

 private:
  struct Step {
    std::vector<uint32_t> reads;  // Earlier steps.
    uint32_t group = kNone;
    bool is_taken = false;
  };
  struct Group {
    std::vector<uint32_t> members;
    bool is_read = false;  // By others.
    bool is_taken = false;
  };

  void add_step(const ir::Node& node, uint32_t group);
  void grew_late(const Group& group);
  uint32_t changed_until(uint32_t step) const;

  std::unordered_map<const ir::Node*, uint32_t> place_;
  std::vector<Step> steps_;
  std::vector<Group> groups_;
  // Of the groups that begin at or before a step, the end of those that grew late: a prefix
  // maximum, as a Fenwick tree over steps (from 1).
  std::vector<uint32_t> late_;
};

}  // namespace tierup::passes
