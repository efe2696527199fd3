// The emitter: the body of a function as a graph.
//
// Printed code was made from a graph, so most of it maps node by node (section 9.2 of the format
// read from right to left); the rest of the language is reduced to the same nodes while it is
// walked: there is one pass over the syntax tree, which types every expression, joins the variables
// of branches and carries those of loops.
#pragma once

#include <memory>
#include <vector>

#include "tierup/frontend/torchscript/compilation_unit.h"

namespace tierup::frontend::torchscript {

// The graph's inputs are `arguments`; its output has the declared type, or, if that is null, the
// type that the body gives. Throws kSyntax, showing the place, for what does not type-check;
// unknown operators become traps.
std::shared_ptr<ir::Graph> emit_function(CompilationUnit& unit, const ScriptFunction& function,
                                         const std::vector<ir::Argument>& arguments,
                                         const TypePtr& declared_result);

}  // namespace tierup::frontend::torchscript
