// See gather_groups.h.
#include "tierup/passes/fuse/gather_groups.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tierup/passes/fuse/group_reach.h"

namespace tierup::passes {
namespace {

using ir::Node;
using ir::Value;
using Members = std::vector<Node*>;

class Gatherer {
 public:
  Gatherer(PassContext& context, const std::vector<const Members*>& groups) : context_(context) {
    for (const Members* group : groups) {
      units_.push_back({{}, {}, 0, 0, group->size()});
      for (const Node* member : *group) unit_of_[member] = units_.size() - 1;
    }
  }

  void run(const ir::Block& block) {
    for (Node* node : block.nodes()) add(node);
    for (const Node* node : block.nodes()) {
      const size_t unit = unit_of_.at(node);
      if (--units_[unit].to_come == 0 && units_[unit].missing == 0) take(unit);
    }
    TIERUP_CHECK(order_.size() == seen_);
    const auto& nodes = block.nodes();
    if (!std::equal(order_.begin(), order_.end(), nodes.begin())) rearrange(block);
  }

 private:
  // A group, or a node outside of all.
  struct Unit {
    Members nodes;
    std::vector<size_t> readers;
    size_t last = 0;     // Where its last node stood.
    size_t missing = 0;  // How many of the units that it reads are not taken yet.
    size_t to_come = 0;  // How many of its nodes are still to be met.
  };

  void add(Node* node) {
    const auto [entry, is_alone] = unit_of_.emplace(node, units_.size());
    if (is_alone) units_.push_back({{}, {}, 0, 0, 1});
    const size_t unit = entry->second;
    units_[unit].last = seen_++;
    units_[unit].nodes.push_back(node);
    for (const Value* value : values_read(*node)) {
      const auto producer = unit_of_.find(value->node());
      if (producer == unit_of_.end() || producer->second == unit) continue;
      units_[producer->second].readers.push_back(unit);
      ++units_[unit].missing;
    }
  }
  // And what waited for it.
  void take(size_t first) {
    std::set<std::pair<size_t, size_t>> ready{{units_[first].last, first}};
    while (!ready.empty()) {
      const size_t unit = ready.extract(ready.begin()).value().second;
      order_.insert(order_.end(), units_[unit].nodes.begin(), units_[unit].nodes.end());
      for (const size_t reader : units_[unit].readers) {
        if (--units_[reader].missing > 0 || units_[reader].to_come > 0) continue;
        ready.emplace(units_[reader].last, reader);
      }
    }
  }
  void rearrange(const ir::Block& block) {
    for (Node* node : order_) {
      context_.editor().move_to_end(node, const_cast<ir::Block*>(&block));
    }
  }

  PassContext& context_;
  std::unordered_map<const Node*, size_t> unit_of_;
  std::vector<Unit> units_;
  size_t seen_ = 0;
  Members order_;
};

}  // namespace

void gather_groups(PassContext& context, const std::vector<const Members*>& groups,
                   const ir::Block& block) {
  Gatherer(context, groups).run(block);
}

}  // namespace tierup::passes
