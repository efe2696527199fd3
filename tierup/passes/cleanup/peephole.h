// peephole: small rewrites that need to know what an operator means.
//
//   %d : int = aten::dim(%x)          with %x : Float(2, 3)           =>    the constant 2
//   %n : int = aten::len.t(%l)        of a list made of three values  =>    the constant 3
//
// Requires   a verified graph; facts of tensor types that are true (in a specialised graph the
//            guards see to that).
// Rewrites   not of not; unwrapping of what is no optional; length and items of a list made in the
//            graph and only read; rank, sizes and element type where the type knows them. A size
//            that is one of an input by its symbol is asked of the input; sizes that are unpacked
//            are asked for one by one; a number compared with itself; views and expansions to the
//            sizes that are there, of memory that nobody writes and that does not leave.
// Preserves  effects and their order; an index out of range stays, and raises.
// Counts     rewritten, sizes, unpacked.
#pragma once

#include "tierup/passes/core/pass.h"

namespace tierup::passes {

void peephole(PassContext& context);

}  // namespace tierup::passes
