// dead_code_elimination: removes nodes whose results and effects nobody can notice.
//
//   %t : Tensor = aten::add.Tensor(%x, %y, %1)     with no use of %t     =>     nothing
//
// Requires   a verified graph.
// Keeps      what the returned values need; nodes with effects (prints, raises, sets attributes,
// calls
//            unknown code, writes memory known outside); writes to memory that a kept node reads.
// Removes    all else, also operators that could only have raised, and draws of random numbers
// whose
//            result is unused, unless they are to be kept.
// Preserves  the order of effects.
// Counts     removed.
#pragma once

#include <cstdint>

#include "tierup/passes/pass.h"

namespace tierup::passes {

// Draws whose result nobody uses. Without a profile they go, as in PyTorch. A specialised plan,
// whose sizes are constants, uses fewer results, and yet each call draws the numbers that it would
// draw at tier 0.
enum class UnusedDraws : uint8_t { kRemove, kKeep };

void dead_code_elimination(PassContext& context, UnusedDraws unused);

}  // namespace tierup::passes
