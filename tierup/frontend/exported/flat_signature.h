// flat_signature: arguments and results of an exported program's forward, as its graph has them.
//
// A program's results are leaves: one is returned as it is (a tuple would cost an allocation in
// every call), several, or none, as a tuple.
#pragma once

#include <string>
#include <vector>

#include "tierup/ir/function.h"
#include "tierup/ir/graph_editor.h"

namespace tierup::frontend::exported {

ir::Argument argument(std::string name, TypePtr type);

// Returns `results` from the graph's block, and says so in the schema.
void add_flat_outputs(ir::GraphEditor& editor, const std::vector<ir::Value*>& results,
                      ir::Schema& schema);
// Of each result. Inverse of add_flat_outputs().
std::vector<TypePtr> flat_output_types(const ir::Schema& schema);
// What a call of forward gave, as leaves.
std::vector<IValue> flat_outputs(IValue result);

}  // namespace tierup::frontend::exported
