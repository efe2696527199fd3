#include "tierup/executor/plugin_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>

#include "tierup/base/error.h"

namespace tierup::executor {
namespace {

class PluginOperator final : public ops::ExternalTarget {
 public:
  PluginOperator(std::shared_ptr<const PluginLibrary> library, const tierup_plugin_operator& from)
      : library_(std::move(library)), from_(from) {
    const std::string_view schema = from.schema;
    name_ = schema.substr(0, schema.find('('));
  }

  void call(ops::OpCall& call) const override {
    tierup_plugin_call plugin_call{call.args, call.results, {}, {}};
    if (from_.shape != nullptr) {
      check_status(from_.shape(&plugin_host(), &plugin_call, from_.context), plugin_call, name_);
    }
    check_status(from_.kernel(&plugin_host(), &plugin_call, from_.context), plugin_call, name_);
    for (size_t i = 0; i < call.results.size(); ++i) {
      require(!call.results[i].is_none(), ErrorCode::kInvalidArgument,
              "{}: the kernel made no result {}", name_, i);
    }
  }

 private:
  const std::shared_ptr<const PluginLibrary> library_;
  const tierup_plugin_operator& from_;
  std::string name_;
};

bool is_complete(const tierup_plugin_delegate& delegate) {
  if (delegate.size < offsetof(tierup_plugin_delegate, package_kind)) return false;
  if (delegate.name == nullptr || delegate.run == nullptr) return false;
  if ((delegate.supports == nullptr) != (delegate.compile == nullptr)) return false;
  return delegate.supports != nullptr || takes_packages(delegate);
}

}  // namespace

bool takes_packages(const tierup_plugin_delegate& delegate) {
  return delegate.size >= sizeof(delegate) && delegate.package_kind != nullptr &&
         delegate.open_package != nullptr;
}

std::shared_ptr<const PluginLibrary> PluginLibrary::load(const std::string& path) {
  std::shared_ptr<PluginLibrary> library(new PluginLibrary(path));
  library->open();
  return library;
}

PluginLibrary::~PluginLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void PluginLibrary::open() {
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    fail(ErrorCode::kNotFound, "cannot load the plugin {}: {}", path_,
         reason == nullptr ? "unknown reason" : reason);
  }
  const auto entry = reinterpret_cast<tierup_plugin_main_fn>(dlsym(handle_, TIERUP_PLUGIN_MAIN));
  require(entry != nullptr, ErrorCode::kUnsupported, "{} is no plugin of tierup: it has no {}",
          path_, TIERUP_PLUGIN_MAIN);
  const tierup_plugin* plugin = entry(&plugin_host());
  require(plugin != nullptr, ErrorCode::kUnsupported, "the plugin {} refuses this host (ABI {})",
          path_, TIERUP_PLUGIN_ABI);
  require(plugin->abi == TIERUP_PLUGIN_ABI && plugin->size >= offsetof(tierup_plugin, passes),
          ErrorCode::kUnsupported, "the plugin {} follows ABI {}, this build has {}", path_,
          plugin->abi, TIERUP_PLUGIN_ABI);
  name_ = plugin->name == nullptr ? path_ : plugin->name;
  for (size_t i = 0; i < plugin->operator_count; ++i) {
    const tierup_plugin_operator* one = plugin->operators[i];
    require(one != nullptr && one->size >= sizeof(*one) && one->schema != nullptr &&
                one->kernel != nullptr,
            ErrorCode::kUnsupported, "the plugin {} declares operator {} incompletely", path_, i);
    operators_.push_back(one);
  }
  for (size_t i = 0; i < plugin->delegate_count; ++i) {
    const tierup_plugin_delegate* one = plugin->delegates[i];
    require(one != nullptr && is_complete(*one), ErrorCode::kUnsupported,
            "the plugin {} declares delegate {} incompletely", path_, i);
    delegates_.push_back(one);
  }
  if (plugin->size < sizeof(tierup_plugin)) return;
  for (size_t i = 0; i < plugin->pass_count; ++i) {
    require(plugin->passes[i] != nullptr, ErrorCode::kUnsupported,
            "the plugin {} declares pass {} incompletely", path_, i);
    passes_.push_back(pass_of(*plugin->passes[i]));
  }
}

PluginLibraries load_plugins(const std::vector<std::string>& paths) {
  PluginLibraries libraries;
  std::vector<Error> failures;
  for (const std::string& path : paths) {
    try {
      libraries.push_back(PluginLibrary::load(path));
    } catch (const Error& error) {
      failures.push_back(error);
    }
  }
  if (failures.size() == 1) throw failures[0];
  if (failures.empty()) return libraries;
  std::string all = fmt::format("{} plugins cannot be used:", failures.size());
  for (const Error& failure : failures) all += "\n  " + failure.message();
  throw Error(failures[0].code(), std::move(all));
}

void add_operators(const PluginLibraries& libraries, ops::ExternalOperators& operators) {
  for (const auto& library : libraries) {
    for (const tierup_plugin_operator* one : library->operators()) {
      try {
        operators.add(one->schema, static_cast<uint8_t>(one->effects),
                      make_ref<PluginOperator>(library, *one));
      } catch (Error& error) {
        error.add_context("in the plugin " + library->path());
        throw;
      }
    }
  }
}

}  // namespace tierup::executor
