// Delegation: neighbouring nodes that a plugin's delegate supports become one node that it runs.
//
// Only nodes without effects, writes or aliases are taken, so that a group can run where its last
// node stood. What the delegate declines at run time, the host computes by the nodes' own kernels.
// A delegate may also take a whole model that stands in an archive compiled already.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/executor/plugin_library.h"
#include "tierup/executor/plugin_package.h"

namespace tierup::executor {

struct Delegate {
  std::shared_ptr<const PluginLibrary> library;
  const tierup_plugin_delegate* table = nullptr;
  const ops::Op* op = nullptr;       // Of the nodes that stand for its groups.
  const ops::Op* package = nullptr;  // Of those for models; null if it takes none.
};

// A compiled model in a delegate's hands: a node of `op` with its inputs and `group` behind them,
// with one output per leaf of the result.
struct OpenedPackage {
  const ops::Op* op = nullptr;
  IValue group;
  std::string arguments;  // Tree specs, as PyTorch writes them.
  std::string result;
};

// The plugins of one model: constant once loaded. Thread rule: any thread.
class Plugins {
 public:
  // Throws as PluginLibrary::load and ExternalOperators::add.
  explicit Plugins(const std::vector<std::string>& paths);

  const ops::ExternalOperators& operators() const { return operators_; }
  const std::vector<Delegate>& delegates() const { return delegates_; }
  // Of all plugins, in their order.
  std::vector<UserPass> passes() const;
  // Gives each delegate, in their order, the groups that it takes. Returns how many.
  size_t delegate_nodes(ir::Graph& graph) const;
  // Whether some delegate takes compiled models of this kind, and giving one to it. Throws
  // kUnsupported with the delegate's own words if it cannot load it.
  bool takes_packages(std::string_view kind) const;
  OpenedPackage open_package(std::string_view kind, PackageFiles files) const;

 private:
  PluginLibraries libraries_;
  ops::ExternalOperators operators_;
  std::vector<Delegate> delegates_;
};

}  // namespace tierup::executor
