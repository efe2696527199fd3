// loop_unrolling: writes out loops of few known trips.
//
//   %r : Tensor = prim::Loop(%3, %true, %x)           =>    the body three times
//     block0(%i : int, %acc : Tensor): ... -> (%true, %next)
//
// Requires   a verified graph; constants propagated, so that counts and conditions are seen.
// Unrolls    loops with a constant trip count of at most max_trips and a constant true condition,
//            when the copies come to at most max_nodes nodes. The counter becomes a constant.
// Preserves  effects and their order.
// Leaves     loops that wait for forks: writing them out brings nothing, and changes which threads
// run
//            the forks, each of which keeps its own primitives;
//            loops that may stop early; run constant_propagation again behind it.
// Counts     unrolled.
#pragma once

#include "tierup/passes/pass.h"

namespace tierup::passes {

struct LoopUnrollingOptions {
  int64_t max_trips = 8;  // As the reference design's limits: short loops, small bodies.
  size_t max_nodes = 256;
};

void loop_unrolling(PassContext& context, const LoopUnrollingOptions& options = {});

}  // namespace tierup::passes
