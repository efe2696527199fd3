// dead_code_elimination: removes nodes whose results and effects nobody can notice.
//
//   %t : Tensor = aten::add.Tensor(%x, %y, %1)     with no use of %t     =>     nothing
//
// Requires   a verified graph.
// Keeps      what the returned values need; nodes with effects (prints, raises, sets attributes,
//            calls unknown code, writes memory known outside); writes to memory that a kept node
//            reads.
// Removes    all else, also draws of random numbers and errors of nodes whose results are unused,
//            unless they are to be kept.
// Preserves  the order of effects.
// Counts     removed.
#pragma once

#include <cstdint>

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// Draws and errors of nodes whose results nobody uses. Without a profile they go, as in PyTorch. A
// specialised plan, whose sizes are known, uses fewer results, and yet each call draws the numbers
// and raises the errors that it would at tier 0: there only what cannot raise goes (may_raise.h).
enum class UnusedEffects : uint8_t { kRemove, kKeep };

void dead_code_elimination(PassContext& context, UnusedEffects unused);

}  // namespace tierup::passes
