// ViewChain: the views between a value and what it shows.
#pragma once

#include <functional>
#include <vector>

#include "tierup/ops/regions/fusion_group.h"
#include "tierup/passes/core/pass.h"

namespace tierup::passes {

struct ViewChain {
  const ir::Value* source = nullptr;
  std::vector<ops::ViewStep> steps;  // From the source on.
  std::vector<ir::Node*> nodes;      // In program order.
};

// The views from the nearest value that `is_source` says yes to; empty if there is none in this
// block, or something other than a view with constant arguments stands between.
std::optional<ViewChain> view_chain(const ir::Value* value,
                                    const std::function<bool(const ir::Value*)>& is_source);

// Whether a node gives a list of views that is only read.
bool is_view_list(const ir::Node& node);
// The views with constant arguments from as far above as they go.
ViewChain longest_view_chain(const ir::Value* value,
                             const std::function<bool(const ir::Value*)>& is_source);

}  // namespace tierup::passes
