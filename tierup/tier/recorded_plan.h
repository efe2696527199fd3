// recorded_plan: a plan for runs under a tape: tier 0's graph with the parts that can be
// differentiated as a whole as single steps (differentiable_graph.h).
//
// Its guard holds the attributes that decide the program's course (flags, numbers, submodules), not
// the weights: these are read in each run, and the parts look at their geometry. So a step of an
// optimiser leaves the plan standing.
#pragma once

#include "tierup/tier/specializer.h"

namespace tierup::tier {

// Null if nothing in the graph is worth it; `why` says so then. Throws what a pass throws.
Ref<InstalledPlan> make_recorded_plan(const SpecializeRequest& request,
                                      const TieringOptions& options, std::string& why);

}  // namespace tierup::tier
