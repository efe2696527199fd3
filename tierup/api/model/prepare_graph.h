// prepare_graph: from a function's own graph to the one that its plan is lowered from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tierup/executor/delegation.h"
#include "tierup/ir/function.h"
#include "tierup/passes/core/pass.h"

namespace tierup::api {

struct PrepareOptions {
  bool devices_to_cpu = true;                  // Constants that name a CUDA device become the CPU.
  const executor::Plugins* plugins = nullptr;  // Whose delegates take groups of nodes.
  // Of the user's, run before those. And passes that the tiering options leave out.
  const passes::PassRegistry* passes = nullptr;
  std::vector<std::string> disabled;
};

std::shared_ptr<const ir::Graph> prepare_graph(const ir::Function& function,
                                               const PrepareOptions& options);

}  // namespace tierup::api
