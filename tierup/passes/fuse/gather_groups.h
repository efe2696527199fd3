// gather_groups: puts the nodes of a block into an order in which each group's stand together.
#pragma once

#include <vector>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// What depends on a group that is not complete yet waits until it is; it must be free to do so, and
// no group may depend on itself through nodes outside of it.
void gather_groups(PassContext& context, const std::vector<const std::vector<ir::Node*>*>& groups,
                   const ir::Block& block);

}  // namespace tierup::passes
