// The engine: runs recorded nodes backwards.
//
// First a walk from the outputs counts, for every node and leaf, the gradients that will come, and
// finds which nodes lie on a path to something wanted. Then nodes whose gradients are complete run
// by falling depth, of equal depth the one found last first, which is the order of recording
// reversed for straight code, and the same in every run. A leaf accumulates once all its gradients
// have come.
#pragma once

#include "tierup/autodiff/node.h"

namespace tierup::autodiff {

// Runs `request`. Gradients of request.inputs are returned if `captures`; else leaves accumulate
// (only those of request.inputs, if there are any). `tape` records the pass itself if
// request.create_graph.
std::vector<Tensor> run_backward(ops::Tape& tape, ops::RunContext& context,
                                 const ops::BackwardRequest& request, bool captures);

}  // namespace tierup::autodiff
