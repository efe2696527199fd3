// Lowering: a graph to a plan.
#pragma once

#include <memory>

#include "tierup/runtime/plan.h"

namespace tierup::runtime {

// The graph must be verified and every operator in it have a kernel. Throws kUnsupported naming the
// operator, with its source line, otherwise.
std::unique_ptr<Plan> lower(std::shared_ptr<const ir::Graph> graph);

}  // namespace tierup::runtime
