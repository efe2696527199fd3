// What the code of a model uses: a walk over the graphs that its methods can call.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tierup/api/model/model.h"

namespace tierup::api {

using GraphOf = std::function<const ir::Graph&(const ir::Function&)>;

// `is_conditional`: every way to the node that was found goes through a branch or loop, or a call
// by interface.
using NodeVisitor = std::function<void(const ir::Node& node, bool is_conditional)>;

// Calls `visit` for every node of every graph that the root's methods can reach. `graph_of` says
// which graph of a function is meant: its own or the prepared one. A function is visited once,
// or twice if it was first found conditionally and then otherwise.
void visit_reachable(const Model& model, const GraphOf& graph_of, const NodeVisitor& visit);

// Operators by qualified name, with the number of places that use them.
std::map<std::string, size_t> count_operators(const Model& model);

}  // namespace tierup::api
