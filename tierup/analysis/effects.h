// What a call does beyond its results, seen with its arguments.
#pragma once

#include "tierup/ir/graph.h"

namespace tierup::analysis {

// The effects of the node's operator. An operator that draws random numbers only where its argument
// `train` or `training` is true, or its dropout probability is positive, does not draw where these
// are constants that say otherwise. Of a node that is no operator: none.
uint8_t effects_of(const ir::Node& node);

// Whether an object is a `torch.jit.strict_fusion`: entering and leaving it does nothing but mark a
// region, which operators do not leave.
bool is_strict_fusion(const ir::Value* object);
// Whether a node enters or leaves such a region.
bool is_region_mark(const ir::Node& node);

}  // namespace tierup::analysis
