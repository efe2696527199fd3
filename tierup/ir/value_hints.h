// ValueHints: what values of a graph looked like when it was profiled.
//
// A hint is no fact: nothing guards it, and the next run may differ. A pass may choose by hints
// (which algorithm, which kernels to have ready), never prove by them; what it makes must check its
// inputs itself. Facts that guards do check stand in the values' types.
#pragma once

#include <unordered_map>

#include "tierup/ir/graph.h"

namespace tierup::ir {

// Of one graph; entries of removed values are never read again.
class ValueHints {
 public:
  // Null if nothing is known. Sizes that varied are unknown in it.
  const TensorFacts* find(const Value* value) const {
    const auto found = facts_.find(value);
    return found == facts_.end() ? nullptr : &found->second;
  }
  void set(const Value* value, TensorFacts facts) {
    facts_.insert_or_assign(value, std::move(facts));
  }
  // For a value that takes another's place.
  void copy(const Value* from, const Value* to) {
    if (const TensorFacts* facts = find(from)) set(to, TensorFacts(*facts));
  }
  size_t size() const { return facts_.size(); }

 private:
  std::unordered_map<const Value*, TensorFacts> facts_;
};

}  // namespace tierup::ir
