// What a call does beyond its results, seen with its arguments.
#pragma once

#include "tierup/ir/graph.h"

namespace tierup::analysis {

// The effects of the node's operator. A norm that keeps running statistics has the side effect of
// writing them only where `training` or `use_input_stats` may be true. An operator that draws
// random numbers only where its argument `train` or `training` is true, or its dropout probability
// is positive, does not draw where these are constants that say otherwise. Of a node that is no
// operator: none.
uint8_t effects_of(const ir::Node& node);
// Whether the call writes its i-th input: by the schema's mark, or as running statistics.
bool writes_input(const ir::Node& node, size_t i);

// Whether nodes of this kind, which is no operator's, make their results of their inputs and do
// nothing else: no writes, no blocks, no order among others.
bool only_makes_results(ir::NodeKind kind);

// Whether an object is a `torch.jit.strict_fusion`: entering and leaving it does nothing but mark a
// region, which operators do not leave.
bool is_strict_fusion(const ir::Value* object);
// Whether a node enters or leaves such a region.
bool is_region_mark(const ir::Node& node);

}  // namespace tierup::analysis
