// plan_regions: what of a specialised graph was put together, and what was not and why.
#pragma once

#include <vector>

#include "tierup/ir/graph.h"
#include "tierup/tier/tier_report.h"

namespace tierup::tier {

// In program order, blocks and the bodies of forks included. The graph may be run meanwhile.
void find_regions(const ir::Graph& graph, std::vector<RegionReport>& regions,
                  std::vector<LeftOperator>& left);

}  // namespace tierup::tier
