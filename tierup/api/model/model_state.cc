// Model's attributes, parameters and buffers.
#include <fmt/format.h>

#include <map>
#include <unordered_set>

#include "tierup/api/model/model.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/frontend/exported/program_saver.h"
#include "tierup/frontend/torchscript/module_saver.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::api {
namespace {

void set_training_below(const Ref<ObjectValue>& module, bool training,
                        std::unordered_set<const ObjectValue*>& seen) {
  if (!seen.insert(module.get()).second) return;
  const auto& attributes = module->type->attributes();
  for (size_t i = 0; i < attributes.size(); ++i) {
    IValue& value = module->slots[i];
    if (attributes[i].name == "training" && value.is_bool()) {
      value = training;
      module->version.fetch_add(1, std::memory_order_relaxed);  // Plans rest on it.
    }
    if (value.is_object() && value.to_object().type->is_module()) {
      set_training_below(value.object_ref(), training, seen);
    }
  }
}

// What keeps a state from being loaded, one line each; empty if nothing does.
std::string find_state_problems(const std::map<std::string, Tensor>& own,
                                const archive::NamedTensors& state, bool strict) {
  std::string problems;
  std::map<std::string, Tensor> given(state.begin(), state.end());
  for (const auto& [name, tensor] : given) {
    const auto found = own.find(name);
    if (found == own.end()) {
      if (strict) problems += fmt::format("\n- unexpected: {}", name);
    } else if (!std::ranges::equal(found->second.sizes(), tensor.sizes())) {
      problems += fmt::format("\n- size mismatch: {} is {} in the module but {} in the state", name,
                              shape_string(found->second.sizes()), shape_string(tensor.sizes()));
    }
  }
  if (strict) {
    for (const auto& [name, tensor] : own) {
      if (!given.contains(name)) problems += fmt::format("\n- missing: {}", name);
    }
  }
  return problems;
}

}  // namespace

// The object that holds the last part of a dotted path, and that part.
std::pair<Ref<ObjectValue>, std::string> Model::holder_of(const std::string& path) const {
  Ref<ObjectValue> holder = root();
  size_t begin = 0;
  for (;;) {
    // Parameters of exported programs have names with dots in them.
    const std::string rest = path.substr(begin);
    if (holder->type->find_attribute(rest)) return {holder, rest};
    const size_t dot = path.find('.', begin);
    const std::string name = path.substr(begin, dot - begin);
    require(holder->type->find_attribute(name).has_value(), ErrorCode::kNotFound,
            "'{}' has no attribute '{}' (looking for '{}')", holder->type->name(), name, path);
    const IValue& value = holder->get(name);
    require(value.is_object(), ErrorCode::kNotFound, "'{}' is not a module (looking for '{}')",
            path.substr(0, dot), path);
    holder = value.object_ref();
    begin = dot + 1;
  }
}

IValue Model::attribute(const std::string& path) const {
  const auto [holder, name] = holder_of(path);
  return holder->get(name);
}

void Model::set_attribute(const std::string& path, IValue value) const {
  const auto [holder, name] = holder_of(path);
  const auto& attribute = holder->type->attributes()[*holder->type->find_attribute(name)];
  if (!(convert_value(value, attribute.type))) {
    fail(ErrorCode::kTypeError, "attribute '{}' expects a value of type '{}' but got '{}'", path,
         attribute.type->to_string(), value.type()->to_string());
  }
  holder->set(name, std::move(value));
}

void Model::share_parameters(const Model& other) const {
  const auto parameters_of = [](const Model& model) {
    std::map<std::string, Tensor> found;
    for (auto& named : frontend::torchscript::named_tensors(*model.root())) {
      if (named.is_parameter) found.emplace(std::move(named.name), std::move(named.tensor));
    }
    return found;
  };
  const std::map<std::string, Tensor> given = parameters_of(other);
  const archive::NamedTensors state(given.begin(), given.end());
  const std::string problems = find_state_problems(parameters_of(*this), state, true);
  require(problems.empty(), ErrorCode::kInvalidArgument, "the parameters do not fit the module:{}",
          problems);
  for (const auto& [name, tensor] : given) set_attribute(name, IValue(tensor));
}

void Model::set_training(bool training) const {
  require(exported_ == nullptr, ErrorCode::kUnsupported,
          "Calling {}() is not supported yet: the mode of an exported program is baked in; export "
          "the module again in the other mode",
          training ? "train" : "eval");
  std::unordered_set<const ObjectValue*> seen;
  set_training_below(root(), training, seen);
}

archive::NamedTensors Model::state() const {
  archive::NamedTensors result;
  for (auto& named : frontend::torchscript::named_tensors(*root())) {
    result.emplace_back(std::move(named.name), std::move(named.tensor));
  }
  return result;
}

void Model::load_state(const archive::NamedTensors& state, bool strict) const {
  const archive::NamedTensors tensors = this->state();
  const std::map<std::string, Tensor> own(tensors.begin(), tensors.end());
  const std::string problems = find_state_problems(own, state, strict);
  require(problems.empty(), ErrorCode::kInvalidArgument, "the state does not fit the module:{}",
          problems);
  for (const auto& [name, tensor] : state) {
    const auto found = own.find(name);
    if (found == own.end()) continue;
    kernels::copy_into(found->second, tensor);
    found->second.bump_version();
  }
}

void Model::save(const std::string& path) const {
  if (exported_) {
    return frontend::exported::save_program(path, *module_.archive, exported_->model, *root());
  }
  const auto state_of = [this](const Ref<ObjectValue>& object) -> std::optional<IValue> {
    if (!frontend::torchscript::has_own_state(*object->type)) return std::nullopt;
    const ThreadCountScope threads(options_.threads);
    ops::RunContext run_context = context();
    std::vector<IValue> arguments{IValue(object)};
    return program_->run(ir::as_function(*object->type->find_method("__getstate__")), arguments,
                         run_context, run_state({}));
  };
  frontend::torchscript::save_module(path, *module_.archive, root(), state_of);
}

}  // namespace tierup::api
