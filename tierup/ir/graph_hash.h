// graph_hash: a number that depends on what a graph does, and on nothing else.
//
// Equal for graphs that differ only in names, ids, source ranges and call chains. The same in
// every process and build of one version: it is a key of caches on disk.
#pragma once

#include <cstdint>

#include "tierup/ir/graph.h"

namespace tierup::ir {

// Reads the bytes of tensor constants; objects count by their class, functions by their name.
uint64_t graph_hash(const Graph& graph);

}  // namespace tierup::ir
