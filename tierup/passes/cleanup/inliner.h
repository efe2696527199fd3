// inliner: replaces calls of functions and methods whose body is known by a copy of the body.
//
//   %y : Tensor = prim::CallMethod[name="forward"](%conv, %x)    =>    the nodes of Conv.forward
//
// Requires   a verified graph; bodies come from ir::Function::graph().
// Inlines    every CallFunction, and CallMethod on a value of a class type (not of an interface,
//            whose class only a run knows), also inside of what it has inlined.
// Preserves  the order of effects; source ranges. A copied node's call chain names the callers.
// Leaves     recursive calls, and calls that would pass kMaxNodes or kMaxDepth: the runtime makes
// them. Counts     inlined, recursive, too_large.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void inliner(PassContext& context);

}  // namespace tierup::passes
