// dead_code_elimination: removes nodes whose results and effects nobody can notice.
//
//   %t : Tensor = aten::add.Tensor(%x, %y, %1)     with no use of %t     =>     nothing
//
// Requires   a verified graph.
// Keeps      what the returned values need; nodes with effects (prints, raises, sets attributes,
// calls
//            unknown code, writes memory known outside); writes to memory that a kept node reads.
// Removes    all else, also draws of random numbers whose result is unused, and operators that
//            could only have raised.
// Preserves  the order of effects.
// Counts     removed.
#pragma once

#include "tierup/passes/pass.h"

namespace tierup::passes {

void dead_code_elimination(PassContext& context);

}  // namespace tierup::passes
