// constant_propagation: computes what only depends on constants, and takes the branches it decides.
//
//   %3 : int = aten::mul.int(%1, %2)            =>    %3 : int = prim::Constant[value=6]()
//   %r : int = prim::If(%true) ...              =>    the nodes of the first block
//
// Requires   a verified graph.
// Folds      operators whose inputs are plain constants (numbers, strings, None, devices, tuples of
//            those, and lists of those that are only read) and whose outputs are plain or a list
//            that is only read; tuple and list construction; unchecked casts; isinstance and `is
//            None` where the type decides; If with a known condition; Loop that makes no trip.
// Evaluates  with the operators' own kernels, so a folded value has the very bits of a run.
// Leaves     what draws, prints, writes or raises: if the evaluation raises, the node stays and
//            raises when (and only if) it runs. Results of more than kMaxElements.
// Preserves  effects and their order.
// Counts     folded, raised, branches, loops.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void constant_propagation(PassContext& context);

}  // namespace tierup::passes
