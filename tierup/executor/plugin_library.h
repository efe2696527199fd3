// PluginLibrary: a user's shared object with operators and delegates (include/tierup/plugin.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tierup/executor/plugin_graph.h"
#include "tierup/executor/plugin_pass.h"
#include "tierup/ir/graph.h"
#include "tierup/ops/table/external.h"

namespace tierup::executor {

// Stays loaded as long as anything holds it: operators, compiled subgraphs. Constant after loading.
class PluginLibrary {
 public:
  // Throws kNotFound if the file is not there or is no shared object, kUnsupported if it is no
  // plugin or follows another ABI.
  static std::shared_ptr<const PluginLibrary> load(const std::string& path);
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }
  const std::vector<const tierup_plugin_operator*>& operators() const { return operators_; }
  const std::vector<const tierup_plugin_delegate*>& delegates() const { return delegates_; }
  const std::vector<UserPass>& passes() const { return passes_; }

 private:
  explicit PluginLibrary(std::string path) : path_(std::move(path)) {}
  void open();

  std::string path_;
  std::string name_;
  void* handle_ = nullptr;
  std::vector<const tierup_plugin_operator*> operators_;
  std::vector<const tierup_plugin_delegate*> delegates_;
  std::vector<UserPass> passes_;
};

// Delegates of plugins made for older hosts end before they could say so.
bool takes_packages(const tierup_plugin_delegate& delegate);

using PluginLibraries = std::vector<std::shared_ptr<const PluginLibrary>>;

// All of them, in order. Throws as PluginLibrary::load; if several fail, one error says why each
// did, with the first one's code.
PluginLibraries load_plugins(const std::vector<std::string>& paths);
// Adds the operators of all libraries. Throws as ExternalOperators::add, naming the library.
void add_operators(const PluginLibraries& libraries, ops::ExternalOperators& operators);

}  // namespace tierup::executor
