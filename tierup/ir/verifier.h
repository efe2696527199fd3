// verify_graph: whether a graph keeps every promise that its readers rely on.
//
// The list of all checks stands at the top of verifier.cc. It runs after the front ends, after
// parse_graph in tests, and after each pass when asked.
#pragma once

#include <string>
#include <vector>

#include "tierup/ir/graph.h"

namespace tierup::ir {

struct GraphIssue {
  const Node* node;  // Null if it concerns the graph's own block.
  std::string message;
};

// Everything wrong with a graph, in program order; empty if it is right. Reads only.
std::vector<GraphIssue> find_issues(const Graph& graph);

// Throws kInternal with the issues and the graph's text if there are any. `after` names what made
// it.
void verify_graph(const Graph& graph, std::string_view after);

}  // namespace tierup::ir
