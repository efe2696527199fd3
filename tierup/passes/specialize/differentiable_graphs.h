// differentiable_graphs: parts of a recorded program become single steps.
//
//   %a = aten::linear(%x, %w, %b)        =>   %c = tierup::differentiable_graph(%x, %w, %b, %g)
//   %c = aten::tanh(%a)                       where the capsule %g holds linear and tanh
//
// What such a step does with its part, and how its backward pass is compiled, is the capsule's own
// matter; the pass only finds parts that may stand as one.
//
// Requires   attributes read before everything else, so that they do not stand between.
// Takes      runs of nodes in one block, with the Ifs and Loops among them whose course depends on
//            no tensor's values: operators with a derivative (or none to give) whose results' sizes
//            follow from sizes, and what computes with numbers and lists beside them.
// Preserves  the order of everything that writes, prints or may raise; memory that results share:
//            a view leaves a part as a view, made behind it.
// Leaves     random draws, writes (but for the running statistics of norms), operators without
//            derivative or shape function, containers that are written; parts of less than two
//            operators. A note says of each operator that ended a part why.
// Counts     graphs, members.
#pragma once

#include <functional>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// Makes the capsule of a part. `body` takes its inputs and gives its results, all of them tensors.
using MakeCapsule = std::function<Ref<RefCounted>(std::shared_ptr<ir::Graph> body)>;

void differentiable_graphs(PassContext& context, const MakeCapsule& make);

}  // namespace tierup::passes
