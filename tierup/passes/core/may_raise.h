// Which nodes may raise an error, as far as types and constants tell.
//
// A plan needs fewer results than tier 0, because it knows sizes, ranks and dtypes beforehand. What
// is left without a use may go only if it cannot raise: an error that tier 0 raises is part of what
// the program does, as much as a result is.
#pragma once

#include "tierup/ir/graph.h"

namespace tierup::passes {

// Whether a node may raise for some inputs of the types that its inputs have: false only where the
// types' sizes and dtypes, and the constants among its inputs, rule every reason out. Memory that
// runs out, and limits of a run, are no reason. Of a node with blocks: not what is inside of them.
bool may_raise(const ir::Node& node);

}  // namespace tierup::passes
