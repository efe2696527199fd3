// ModelHandle: a loaded Module as Python holds it. Closing lets go of it; calls under way keep it.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/module.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "carriers.h"

namespace tierup::python {

class ModelHandle {
 public:
  // `source`: a path, bytes, (size, callable of offset and count that gives bytes), or (JSON of an
  // exported program, its weights by name).
  ModelHandle(nb::handle source, nb::handle options);
  ModelHandle(Module module, ResultKind kind) : results(kind), module_(std::move(module)) {}
  ~ModelHandle();
  ModelHandle(const ModelHandle&) = delete;
  ModelHandle& operator=(const ModelHandle&) = delete;

  // Throws once it is closed.
  const Module& get() const;
  bool is_closed() const { return !module_.has_value(); }
  void close();

  nb::object call(nb::handle args, nb::handle kwargs, const char* method = nullptr);
  // The method's result (null: the module's), looked after as every call from Python is.
  Value run(std::vector<Value> positional, std::vector<std::pair<std::string, Value>> named,
            const char* method = nullptr);

  ResultKind results = ResultKind::kAutomatic;
  CallClock clock;
  std::shared_ptr<CallbackFailures> failure = std::make_shared<CallbackFailures>();

 private:
  std::optional<Module> module_;
};

// Calls `read` with each keyword argument that is not None; one of a type that the option does not
// take raises ArgumentTypeError with its name.
void read_each_option(nb::handle given,
                      const std::function<void(const std::string&, nb::handle)>& read);
// Of the keyword arguments of tierup.load; unknown ones raise TypeError.
Options read_options(nb::handle options, const std::shared_ptr<CallbackFailures>& failure);
ResultKind result_kind(const std::string& name);
void bind_model(nb::module_& module);

}  // namespace tierup::python
