// The step of a recorded run that stands for a part of the program as a whole: it computes its
// results and records one node for them all, whose backward pass is compiled as well.
//
// What the step does is its capsule's to say, which `tier` implements
// (tier/differentiable_graph.h): the tape calls this row's kernel as it is.
#pragma once

#include "tierup/ops/table/op.h"

namespace tierup::ops {

// Thread rule: any number of runs at once.
class DifferentiableStep : public RefCounted {
 public:
  // Arguments: the part's inputs; they may be moved from. Results: its outputs, with their records
  // if the call's context records.
  virtual void run(OpCall& call) = 0;
};

// The row `tierup::differentiable_graph(inputs..., capsule) -> outputs...`.
const Op& differentiable_graph_row();
// Its kernel.
void differentiable_graph(OpCall& call);

}  // namespace tierup::ops
