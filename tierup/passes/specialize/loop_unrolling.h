// loop_unrolling: writes out loops of few known trips, and the bodies of others several times.
//
//   %r : Tensor = prim::Loop(%3, %true, %x)           =>    the body three times
//     block0(%i : int, %acc : Tensor): ... -> (%true, %next)
//
//   %r : Tensor = prim::Loop(%n, %true, %x)           =>    a loop of n / 8 trips with the body
//     block0(%i : int, %acc : Tensor): ... -> ...            eight times, one of n % 8 trips behind
//
// Requires   a verified graph; constants propagated, so that counts and conditions are seen.
// Unrolls    loops with a constant trip count of at most max_trips and a constant true condition,
//            when the copies come to at most max_nodes nodes, or more of both where the body is
//            point-wise: the counter becomes a constant;
//            of other counts by `factor`, when the body makes tensors, in at most max_body nodes:
//            what several trips compute is fused, which the end of a body would hinder.
// Preserves  effects and their order.
// Leaves     loops that wait for forks: writing them out brings nothing, and changes which threads
//            run the forks, each of which keeps its own primitives;
//            loops that may stop early; run constant_propagation again behind it.
// Counts     unrolled, unrolled_in_part.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

struct LoopUnrollingOptions {
  int64_t max_trips = 8;  // As the reference design's limits: short loops, small bodies.
  size_t max_nodes = 256;
  // Of bodies that are point-wise throughout, which fuse beyond the end of a trip: exported
  // programs come with as much written out.
  int64_t max_point_trips = 64;
  size_t max_point_nodes = 512;
  int64_t factor = 8;  // 1: only loops of known trips.
  size_t max_body = 16;
};

void loop_unrolling(PassContext& context, const LoopUnrollingOptions& options = {});

}  // namespace tierup::passes
