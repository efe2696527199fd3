// What a call does beyond its results, seen with its arguments.
#pragma once

#include "tierup/ir/graph.h"

namespace tierup::analysis {

// The effects of the node's operator. An operator that draws random numbers only where its argument
// `train` or `training` is true, or its dropout probability is positive, does not draw where these
// are constants that say otherwise. Of a node that is no operator: none.
uint8_t effects_of(const ir::Node& node);

}  // namespace tierup::analysis
