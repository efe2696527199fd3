// Delegation: neighbouring nodes that a plugin's delegate supports become one node that it runs.
//
// Only nodes without effects, writes or aliases are taken, so that a group can run where its last
// node stood. What the delegate declines at run time, the host computes by the nodes' own kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tierup/executor/plugin_library.h"

namespace tierup::executor {

struct Delegate {
  std::shared_ptr<const PluginLibrary> library;
  const tierup_plugin_delegate* table = nullptr;
  const ops::Op* op = nullptr;  // Of the nodes that stand for its groups.
};

// The plugins of one model: constant once loaded. Thread rule: any thread.
class Plugins {
 public:
  // Throws as PluginLibrary::load and ExternalOperators::add.
  explicit Plugins(const std::vector<std::string>& paths);

  const ops::ExternalOperators& operators() const { return operators_; }
  const std::vector<Delegate>& delegates() const { return delegates_; }
  // Gives each delegate, in their order, the groups that it takes. Returns how many.
  size_t delegate_nodes(ir::Graph& graph) const;

 private:
  PluginLibraries libraries_;
  ops::ExternalOperators operators_;
  std::vector<Delegate> delegates_;
};

}  // namespace tierup::executor
