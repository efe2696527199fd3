// neural_regions: lines of convolutions, products and what stands between them become one step.
//
// A region is a run of pure operators that compiled nets know (ops/regions/neural_net.h), with at
// least one convolution or product of constant weights. It is closed by anything that has effects,
// and by an operator of the region that needs the result of an outside one that needs the region's.
// In-place operators are members where they write memory that only the region sees. The step that
// takes a region's place checks its inputs itself, and keeps the operators as its twin.
#pragma once

#include "tierup/passes/core/pass.h"
#include "tierup/passes/fuse/region_refusals.h"

namespace tierup::passes {

// The step is not compiled yet: it has its operators as a body (region_bodies.h), and the compile
// job compiles it afterwards (tier/compile_nets.h).
void neural_regions(PassContext& context);
// The same of a graph that has regions already, without the operators that `refusals` excludes.
// The caller reports what is refused.
void form_regions(PassContext& context, RegionRefusals& refusals);

}  // namespace tierup::passes
