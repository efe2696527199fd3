// remove_expands: removes expansions that only spell out what broadcasting does by itself.
//
//   %e : Tensor = aten::expand(%x, %size, %implicit=True)   =>   %x for %e
//
// Requires   a verified graph.
// Removes    expand with implicit=True: tracing writes one before every broadcasting operator.
// Leaves     expansions that are written to, viewed or returned, which need the shape.
// Preserves  effects and their order.
// Counts     removed.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void remove_expands(PassContext& context);

}  // namespace tierup::passes
