// The checks of one node by its kind; see the list in verifier.cc.
#pragma once

#include <string>
#include <vector>

#include "tierup/ir/graph.h"

namespace tierup::ir {

// Every value of the node must have a type.
std::vector<std::string> find_node_issues(const Node& node);

}  // namespace tierup::ir
