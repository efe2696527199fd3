#include "model.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tierup/training.h>

#include "errors.h"
#include "executor.h"
#include "values.h"

namespace tierup::python {
namespace {

// What the callable raises becomes the load's exception.
Reader reader_of(nb::handle size, nb::handle callable,
                 const std::shared_ptr<CallbackFailures>& failure) {
  std::shared_ptr<PyObject> held(nb::borrow(callable).release().ptr(), drop_later);
  Reader reader;
  reader.size = nb::cast<uint64_t>(size);
  reader.read = [held, failure](uint64_t offset, std::span<std::byte> out) {
    const GilAcquired acquired;
    try {
      const nb::object bytes = nb::steal(entering_python([&] {
        return PyObject_CallFunction(held.get(), "KK", static_cast<unsigned long long>(offset),
                                     static_cast<unsigned long long>(out.size()));
      }));
      if (!bytes.is_valid()) throw nb::python_error();
      char* data = nullptr;
      Py_ssize_t count = 0;
      if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &count) != 0) throw nb::python_error();
      if (static_cast<size_t>(count) != out.size()) {
        raise_error(ErrorCode::kCorruptArchive, "the reader gave " + std::to_string(count) +
                                                    " bytes instead of " +
                                                    std::to_string(out.size()));
      }
      std::copy_n(reinterpret_cast<const std::byte*>(data), out.size(), out.data());
    } catch (nb::python_error& error) {
      failure->end_run(error);
    }
  };
  return reader;
}

Module load_module(nb::handle source, const Options& options,
                   const std::shared_ptr<CallbackFailures>& failure) {
  if (PyBytes_Check(source.ptr())) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    PyBytes_AsStringAndSize(source.ptr(), &data, &size);
    const WorkWithoutGil released;
    return Module::load({reinterpret_cast<const std::byte*>(data), static_cast<size_t>(size)},
                        options);
  }
  if (PyTuple_Check(source.ptr()) && PyUnicode_Check(nb::object(source[0]).ptr())) {
    const std::string json = nb::cast<std::string>(source[0]);
    const NamedTensors weights = read_named_tensors(source[1]);
    const WorkWithoutGil released;
    return Module::from_exported_json(json, weights, options);
  }
  if (PyTuple_Check(source.ptr())) {
    Reader reader = reader_of(source[0], source[1], failure);
    const WorkWithoutGil released;
    return Module::load(std::move(reader), options);
  }
  const std::string path = nb::cast<std::string>(source);
  const WorkWithoutGil released;
  return Module::load(path, options);
}

nb::list describe_methods(const ModelHandle& model) {
  nb::list result;
  for (const MethodInfo& method : model.get().methods()) {
    nb::list arguments;
    for (const MethodInfo::Argument& argument : method.arguments) {
      arguments.append(nb::make_tuple(argument.name, argument.type, argument.has_default));
    }
    result.append(nb::make_tuple(method.name, method.signature, method.result_type, arguments));
  }
  return result;
}

nb::list list_unsupported(const ModelHandle& model) {
  nb::list result;
  for (const Unsupported& item : model.get().unsupported()) {
    result.append(nb::make_tuple(item.name, item.reason, item.place));
  }
  return result;
}

void load_state(const ModelHandle& model, nb::handle state, bool strict) {
  const Module module = model.get();  // Another thread may close the model meanwhile.
  if (PyUnicode_Check(state.ptr())) {
    const std::string path = nb::cast<std::string>(state);
    const WorkWithoutGil released;
    return module.load_state_dict(path, strict);
  }
  const NamedTensors tensors = read_named_tensors(state);
  const WorkWithoutGil released;
  module.load_state_dict(tensors, strict);
}

nb::dict extra_files(const ModelHandle& model) {
  nb::dict result;
  for (const auto& [name, text] : model.get().extra_files()) {
    result[name.c_str()] = nb::bytes(text.data(), text.size());
  }
  return result;
}

[[noreturn]] void refuse_option(const std::string& name, nb::handle value) {
  raise_error(ErrorCode::kTypeError, "option '" + name +
                                         "': " + nb::cast<std::string>(nb::repr(value)) +
                                         " is of another type than it takes");
}

nb::handle callable_option(const std::string& name, nb::handle value) {
  if (PyCallable_Check(value.ptr()) == 0) refuse_option(name, value);
  return value;
}

void set_option(Options& options, const std::string& name, nb::handle value,
                const std::shared_ptr<CallbackFailures>& failure) {
  if (name == "threads") {
    options.threads = nb::cast<int>(value);
  } else if (name == "fork_threads") {
    options.fork_threads = nb::cast<int>(value);
  } else if (name == "inter_op_threads") {
    options.inter_op_threads = nb::cast<uint32_t>(value);
  } else if (name == "tiering") {
    options.tiering = nb::cast<std::string>(value);
  } else if (name == "time_limit") {
    options.time_limit_ms = milliseconds(value);
  } else if (name == "max_call_depth") {
    options.max_call_depth = nb::cast<int64_t>(value);
  } else if (name == "seed") {
    options.seed = nb::cast<uint64_t>(value);
  } else if (name == "devices_to_cpu") {
    options.devices_to_cpu = nb::cast<bool>(value);
  } else if (name == "load_into_memory") {
    options.load_into_memory = nb::cast<bool>(value);
  } else if (name == "allow_unsupported") {
    options.allow_unsupported = nb::cast<bool>(value);
  } else if (name == "run_model_code_at_load") {
    options.run_model_code_at_load = nb::cast<bool>(value);
  } else if (name == "plugins") {
    options.plugins = nb::cast<std::vector<std::string>>(value);
  } else if (name == "print") {
    options.print = text_callback(callable_option(name, value), failure);
  } else if (name == "warn") {
    options.warn = text_callback(callable_option(name, value), failure);
  } else {
    PyErr_Format(PyExc_TypeError, "load() got an unexpected keyword argument '%s'", name.c_str());
    throw nb::python_error();
  }
}

}  // namespace

ResultKind result_kind(const std::string& name) {
  if (name == "auto") return ResultKind::kAutomatic;
  if (name == "tierup") return ResultKind::kOwn;
  if (name == "numpy") return ResultKind::kNumpy;
  if (name == "torch") return ResultKind::kTorch;
  raise_error(ErrorCode::kInvalidArgument,
              "outputs must be 'auto', 'numpy', 'torch' or 'tierup', not '" + name + "'");
}

void read_each_option(nb::handle given,
                      const std::function<void(const std::string&, nb::handle)>& read) {
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const std::string name = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    try {
      read(name, value);
    } catch (const std::bad_cast&) {
      refuse_option(name, value);
    }
  }
}

Options read_options(nb::handle given, const std::shared_ptr<CallbackFailures>& failure) {
  Options options;
  read_each_option(given, [&](const std::string& name, nb::handle value) {
    set_option(options, name, value, failure);
  });
  return options;
}

ModelHandle::ModelHandle(nb::handle source, nb::handle options) {
  const Options read = read_options(options, failure);
  try {
    module_ = load_module(source, read, failure);
  } catch (const Error& error) {
    failure->rethrow(error);
    throw;
  }
}

ModelHandle::~ModelHandle() { close(); }

const Module& ModelHandle::get() const {
  if (!module_) raise_error(ErrorCode::kInvalidArgument, "the model is closed");
  return *module_;
}

void ModelHandle::close() {
  if (!module_) return;
  std::optional<Module> going;
  going.swap(module_);
  const WorkWithoutGil released;  // Its compile jobs end first.
  going.reset();
}

nb::object ModelHandle::call(nb::handle args, nb::handle kwargs, const char* method) {
  return in_call([&] {
    Arguments arguments = read_arguments(args, kwargs);
    const Value result = run(std::move(arguments.positional), std::move(arguments.named), method);
    return write_value(result, results, arguments.like);
  });
}

Value ModelHandle::run(std::vector<Value> positional,
                       std::vector<std::pair<std::string, Value>> named, const char* method) {
  const Module module = get();  // Closing the model meanwhile must not take it away.
  RunOptions options;
  options.on_poll = poll_signals;
  return run_call(clock, *failure, [&] {
    return method == nullptr ? module.call(std::move(positional), std::move(named), options)
                             : module.run(method, std::move(positional), std::move(named), options);
  });
}

namespace {

// model(*args, **kwargs), as the type's own slot: a bound method would cost a look-up more.
PyObject* call_model(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    if (!nb::inst_ready(self)) raise_error(ErrorCode::kInvalidArgument, "the model is not loaded");
    return nb::inst_ptr<ModelHandle>(self)->call(args, kwargs).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace

void bind_model(nb::module_& module) {
  const PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_model)}, {0, nullptr}};
  nb::class_<ModelHandle> type(module, "Model", nb::is_weak_referenceable(), nb::type_slots(slots));
  type.def(nb::init<nb::handle, nb::handle>(), nb::arg("source"), nb::arg("options"));
  type.def(
      "forward",
      [](ModelHandle& self, nb::args args, nb::kwargs kwargs) {
        return self.call(args, kwargs, "forward");
      },
      "Calls forward, without the module's hooks.");
  type.def(
      "run",
      [](ModelHandle& self, const std::string& method, nb::args args, nb::kwargs kwargs) {
        return self.call(args, kwargs, method.c_str());
      },
      nb::arg("method"), nb::arg("args"), nb::arg("kwargs"), "Calls a method by its name.");
  type.def("close", &ModelHandle::close,
           "Lets go of the model; calls under way end as they would. Later ones raise.");
  type.def_prop_ro("closed", &ModelHandle::is_closed, "Whether close() was called.");
  type.def("_set_outputs",
           [](ModelHandle& self, const std::string& name) { self.results = result_kind(name); });
  type.def("_methods", &describe_methods);
  type.def("_unsupported", &list_unsupported);
  type.def("_state_dict", [](const ModelHandle& self) {
    NamedTensors state = self.get().state_dict();
    for (auto& [name, tensor] : state) tensor = detach(tensor);  // As PyTorch's.
    return write_named_tensors(state);
  });
  type.def("_parameters",
           [](const ModelHandle& self) { return write_named_tensors(self.get().parameters()); });
  type.def("_buffers",
           [](const ModelHandle& self) { return write_named_tensors(self.get().buffers()); });
  type.def("_load_state_dict", &load_state);
  type.def("_attribute", [](const ModelHandle& self, const std::string& path) {
    return write_value(self.get().attribute(path), self.results, nullptr);
  });
  type.def(
      "_set_attribute",
      [](const ModelHandle& self, const std::string& path, nb::handle value) {
        ArgumentReader reader;
        try {
          self.get().set_attribute(path, reader.read(value.ptr()));
        } catch (const ArgumentError& error) {
          raise_argument_error(error, "'" + path + "'");
        }
      },
      nb::arg("path"), nb::arg("value").none());
  type.def("_has_attribute", [](const ModelHandle& self, const std::string& path) {
    return self.get().has_attribute(path);
  });
  type.def("_train", [](const ModelHandle& self, bool mode) { self.get().train(mode); });
  type.def("_set_seed", [](const ModelHandle& self, uint64_t seed) { self.get().set_seed(seed); });
  type.def("_extra_files", &extra_files);
  type.def("_stats", [](const ModelHandle& self) {
    const ModuleStats stats = self.get().stats();
    return nb::make_tuple(stats.run_count, stats.error_count);
  });
}

}  // namespace tierup::python
