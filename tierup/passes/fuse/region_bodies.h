// The body of a region: its operators as a graph of their own, which the region's node has as an
// attribute (kBody), and which can take the node's place again.
#pragma once

#include <memory>
#include <vector>

#include "tierup/ops/regions/neural_net.h"
#include "tierup/passes/core/pass.h"

namespace tierup::passes {

// The net behind a region's node; null for other nodes.
ops::NeuralNet* net_of(const ir::Node& node);

// Takes a region apart: its operators stand in its place again. They are returned in the order of
// the net's program.
std::vector<ir::Node*> dissolve_region(PassContext& context, ir::Node* region);

}  // namespace tierup::passes
