// Contract: runs independent branches of a graph at the same time, where their measured costs say
// that it is worth it.
//
// A branch becomes the body of a prim::fork with the attribute name="branch", which the caller
// waits for before anything that depends on it, or that has effects, runs. Only nodes without
// effects move, and only past nodes that neither write what they read nor read what they write.
// The interpreter hands such a fork over if a thread is free for it, else runs it at once.
#pragma once

#include <unordered_map>

#include "tierup/passes/core/pass.h"
#include "tierup/passes/specialize/parallel_branches.h"

namespace tierup::passes {

// Nanoseconds of one run, with what blocks inside cost. Nodes that are not there cost nothing.
using NodeCosts = std::unordered_map<const ir::Node*, double>;

// Counts "branches". `unknown`: what operators without a cost are taken to cost.
void fork_branches(PassContext& context, const NodeCosts& costs, const BranchLimits& limits,
                   double unknown = 0);

}  // namespace tierup::passes
