// v1::Module over Model.
#include "tierup/api/public/facade.h"
#include "tierup/api/public/grad_scope.h"
#include "tierup/api/public/public_convert.h"
#include "tierup/archive/state_dict.h"
#include "tierup/archive/torch_save.h"
#include "tierup/module.h"

namespace tierup::v1 {

namespace {

MethodInfo describe(const ir::Function& function) {
  const ir::Schema& schema = function.schema();
  MethodInfo info;
  info.qualified_name = function.name();
  info.name = function.name().substr(function.name().rfind('.') + 1);
  for (size_t i = 1; i < schema.arguments.size(); ++i) {
    const ir::Argument& argument = schema.arguments[i];
    info.arguments.push_back(
        {argument.name, argument.type->to_string(), argument.default_value.has_value()});
  }
  if (!schema.returns.empty()) info.result_type = schema.returns[0].type->to_string();
  info.signature = api::signature_text(info.name, schema);
  return info;
}

enum class Which { kParameters, kBuffers, kBoth };

NamedTensors named_tensors(const api::Model& model, Which which) {
  NamedTensors result;
  const auto list = which == Which::kParameters ? &frontend::torchscript::named_parameters
                                                : &frontend::torchscript::named_tensors;
  for (auto& named : list(*model.root())) {
    if (which == Which::kBuffers && named.is_parameter) continue;
    result.emplace_back(std::move(named.name), Access::wrap(std::move(named.tensor)));
  }
  return result;
}

}  // namespace

Module::Module(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Module::~Module() = default;
Module::Module(const Module&) noexcept = default;
Module& Module::operator=(const Module&) noexcept = default;

namespace {

Ref<api::Model> load_model(Ref<archive::ByteSource> source, const Options& options) {
  return api::Model::load(std::move(source), model_options(options));
}

}  // namespace

Module Module::load(const std::string& path, const Options& options) {
  return guarded([&] {
    const api::ModelOptions inner = model_options(options);
    return Module(std::make_shared<Impl>(Impl{api::Model::load(inner.open(path), inner)}));
  });
}

Module Module::load(std::span<const std::byte> bytes, const Options& options) {
  return guarded([&] {
    std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Module(
        std::make_shared<Impl>(Impl{load_model(archive::own_bytes(std::move(copy)), options)}));
  });
}

Module Module::load(Reader reader, const Options& options) {
  return guarded([&] {
    Ref<archive::ByteSource> source = archive::callback_source(reader.size, std::move(reader.read));
    return Module(std::make_shared<Impl>(Impl{load_model(std::move(source), options)}));
  });
}

Module Module::from_exported_json(std::string_view json, const NamedTensors& weights,
                                  const Options& options) {
  return guarded([&] {
    return Module(std::make_shared<Impl>(
        Impl{api::Model::from_exported_json(json, unwrap_all(weights), model_options(options))}));
  });
}

Value Module::run(const std::string& method, std::vector<Value> args, NamedValues kwargs,
                  const RunOptions& options) const {
  return guarded([&] {
    return Access::wrap(leaving_scope(impl_->model->run(
        method, unwrap_all(std::move(args)), unwrap_all(std::move(kwargs)), run_options(options))));
  });
}

Value Module::forward(std::vector<Value> args, NamedValues kwargs,
                      const RunOptions& options) const {
  return run("forward", std::move(args), std::move(kwargs), options);
}

Value Module::call(std::vector<Value> args, NamedValues kwargs, const RunOptions& options) const {
  return guarded([&] {
    return Access::wrap(leaving_scope(impl_->model->call(
        unwrap_all(std::move(args)), unwrap_all(std::move(kwargs)), run_options(options))));
  });
}

std::vector<MethodInfo> Module::methods() const {
  return guarded([&] {
    std::vector<MethodInfo> result;
    for (const ir::Function* method : impl_->model->methods()) result.push_back(describe(*method));
    return result;
  });
}

bool Module::has_method(const std::string& name) const {
  return static_cast<bool>(impl_->model->root()->type->find_method(name));
}

std::vector<Unsupported> Module::unsupported() const {
  return guarded([&] {
    std::vector<Unsupported> result;
    for (const auto& item : impl_->model->missing()) {
      result.push_back({item.name, item.reason, item.range.highlight(), item.is_conditional});
    }
    return result;
  });
}

NamedTensors Module::parameters() const {
  return guarded([&] { return named_tensors(*impl_->model, Which::kParameters); });
}
NamedTensors Module::buffers() const {
  return guarded([&] { return named_tensors(*impl_->model, Which::kBuffers); });
}
NamedTensors Module::state_dict() const {
  return guarded([&] { return named_tensors(*impl_->model, Which::kBoth); });
}

void Module::share_parameters(const Module& other) const {
  guarded([&] { impl_->model->share_parameters(*other.impl_->model); });
}

void Module::load_state_dict(const NamedTensors& state, bool strict) const {
  guarded([&] { impl_->model->load_state(unwrap_all(state), strict); });
}

void Module::load_state_dict(const std::string& path, bool strict) const {
  guarded([&] { impl_->model->load_state(archive::open_state_dict(path), strict); });
}

void Module::save(const std::string& path) const {
  guarded([&] { impl_->model->save(path); });
}

void Module::save_state_dict(const std::string& path) const {
  guarded([&] { archive::save_weights(path, impl_->model->state()); });
}

Value Module::attribute(const std::string& path) const {
  return guarded([&] { return Access::wrap(impl_->model->attribute(path)); });
}

void Module::set_attribute(const std::string& path, const Value& value) const {
  guarded([&] { impl_->model->set_attribute(path, Access::unwrap(value)); });
}

bool Module::has_attribute(const std::string& path) const {
  return guarded([&] {
    try {
      static_cast<void>(impl_->model->attribute(path));
      return true;
    } catch (const ::tierup::Error& error) {
      if (error.code() == ::tierup::ErrorCode::kNotFound) return false;
      throw;
    }
  });
}

void Module::train(bool mode) const {
  guarded([&] { impl_->model->set_training(mode); });
}

void Module::set_seed(uint64_t seed) const { impl_->model->set_seed(seed); }

std::vector<std::pair<std::string, std::string>> Module::extra_files() const {
  return guarded([&]() -> std::vector<std::pair<std::string, std::string>> {
    const auto& archive = impl_->model->module().archive;
    if (!archive) return {};
    return frontend::torchscript::extra_files(*archive);
  });
}

ModuleStats Module::stats() const {
  const api::ModelStats stats = impl_->model->stats();
  return {stats.run_count, stats.error_count};
}

}  // namespace tierup::v1
