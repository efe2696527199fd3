// Which parts of a straight line of nodes are worth running at the same time.
//
// The costs are measured ones. The line's heavy nodes are taken apart as a series-parallel graph:
// between two nodes through which everything passes, what hangs together is one branch. Nodes that
// cost next to nothing (views, sizes, lists) only carry dependencies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tierup::passes {

struct LineNode {
  double nanoseconds = 0;
  std::vector<uint32_t> after;  // Places of the nodes that must have run before; all smaller.
};

struct BranchLimits {
  int threads = 2;  // The calling one included.
  // Of a branch that is handed over, and of what is left to the caller meanwhile.
  double least_nanoseconds = 40e3;
  double handover_nanoseconds = 15e3;  // What handing one branch over costs.
};

// Each branch: places of its nodes, ascending. What else is independent of them stays with the
// caller. The most expensive branch stands first, since whoever is free takes the first.
using Branches = std::vector<std::vector<uint32_t>>;

// The first group of branches that is worth it; empty if there is none.
Branches find_branches(std::span<const LineNode> line, const BranchLimits& limits);

}  // namespace tierup::passes
