#include "training.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tierup/optim.h>
#include <tierup/training.h>

#include "errors.h"
#include "model.h"
#include "values.h"

namespace tierup::python {
namespace {

// A tensor, or a sequence of them.
std::vector<Tensor> read_tensors(nb::handle given, const char* what) {
  const auto read = [&](nb::handle item) {
    try {
      return read_tensor(item.ptr(), carrier_of(item.ptr()));
    } catch (const ArgumentError& error) {
      raise_argument_error(error, what);
    }
  };
  std::vector<Tensor> tensors;
  if (given.is_none()) return tensors;
  if (PyList_Check(given.ptr()) || PyTuple_Check(given.ptr())) {
    for (const nb::handle item : given) tensors.push_back(item.is_none() ? Tensor() : read(item));
  } else {
    tensors.push_back(read(given));
  }
  return tensors;
}

Value read_plain(nb::handle object, const std::string& what) {
  try {
    return ArgumentReader().read(object.ptr());
  } catch (const ArgumentError& error) {
    raise_argument_error(error, what);
  }
}

NamedValues read_settings(nb::handle settings) {
  NamedValues result;
  for (const auto& [key, value] : nb::cast<nb::dict>(settings)) {
    const std::string name = nb::cast<std::string>(key);
    result.emplace_back(name, read_plain(value, "'" + name + "'"));
  }
  return result;
}

nb::object write_plain(const Value& value) { return write_value(value, ResultKind::kOwn, nullptr); }

nb::object tensor_or_none(const Tensor& tensor) {
  return tensor.defined() ? wrap_tensor(tensor) : nb::none();
}

// ---- Gradients ----

void run_backward(nb::handle outputs, nb::handle gradients, std::optional<bool> retain_graph,
                  bool create_graph, nb::handle inputs) {
  BackwardOptions options;
  options.gradients = read_tensors(gradients, "gradients");
  options.retain_graph = retain_graph;
  options.create_graph = create_graph;
  options.inputs = read_tensors(inputs, "inputs");
  const std::vector<Tensor> roots = read_tensors(outputs, "outputs");
  const WorkWithoutGil released;
  backward(roots, options);
}

nb::list gradients_of(nb::handle outputs, nb::handle inputs, nb::handle gradients,
                      std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  GradOptions options;
  options.gradients = read_tensors(gradients, "gradients");
  options.retain_graph = retain_graph;
  options.create_graph = create_graph;
  options.allow_unused = allow_unused;
  const std::vector<Tensor> roots = read_tensors(outputs, "outputs");
  const std::vector<Tensor> leaves = read_tensors(inputs, "inputs");
  std::vector<Tensor> found;
  {
    const WorkWithoutGil released;
    found = grad(roots, leaves, options);
  }
  nb::list result;
  for (const Tensor& tensor : found) result.append(tensor_or_none(tensor));
  return result;
}

nb::object record(ModelHandle& model, nb::args args, nb::kwargs kwargs) {
  return in_call([&] {
    const Module module = model.get();
    Arguments arguments = read_arguments(args, kwargs);
    RunOptions options;
    options.on_poll = poll_signals;
    options.gradients = true;
    const Value result = run_call(model.clock, *model.failure, [&] {
      return module.call(std::move(arguments.positional), std::move(arguments.named), options);
    });
    return write_plain(result);
  });
}

void bind_gradients(nb::module_& module) {
  module.def("record", &record, nb::arg("model"), nb::arg("args"), nb::arg("kwargs"));
  module.def("backward", &run_backward, nb::arg("outputs"), nb::arg("gradients").none(),
             nb::arg("retain_graph").none(), nb::arg("create_graph"), nb::arg("inputs").none());
  module.def("grad", &gradients_of, nb::arg("outputs"), nb::arg("inputs"),
             nb::arg("gradients").none(), nb::arg("retain_graph").none(), nb::arg("create_graph"),
             nb::arg("allow_unused"));
  module.def(
      "zero_grad", [](nb::handle tensors) { zero_grad(read_tensors(tensors, "tensors")); },
      nb::arg("tensors"));
  module.def(
      "clip_norm",
      [](nb::handle parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
        return clip_norm(read_tensors(parameters, "parameters"), max_norm, norm_type,
                         error_if_nonfinite);
      },
      nb::arg("parameters"), nb::arg("max_norm"), nb::arg("norm_type"),
      nb::arg("error_if_nonfinite"));
  module.def("clip_value", [](nb::handle parameters, double limit) {
    clip_value(read_tensors(parameters, "parameters"), limit);
  });
}

// ---- Optimisers and schedules ----

Optimizer make_optimizer(const std::string& kind, nb::handle target, nb::handle settings) {
  if (nb::isinstance<ModelHandle>(target)) {
    return Optimizer(kind, nb::cast<const ModelHandle&>(target).get(), read_settings(settings));
  }
  std::vector<Optimizer::Group> groups;
  for (const nb::handle group : target) {
    groups.push_back({read_named_tensors(group[0]), read_settings(group[1])});
  }
  return Optimizer(kind, groups);
}

Schedule make_schedule(nb::handle kind, const Optimizer& optimizer, nb::handle settings) {
  if (PyUnicode_Check(kind.ptr())) {
    return Schedule(nb::cast<std::string>(kind), read_settings(settings), optimizer);
  }
  std::shared_ptr<PyObject> held(nb::borrow(kind).release().ptr(), drop_later);
  const auto factor = [held](int64_t step) {
    const GilAcquired acquired;
    return nb::cast<double>(nb::handle(held.get())(step));
  };
  return Schedule(factor, optimizer);
}

void bind_optimizers(nb::module_& module) {
  nb::class_<Optimizer>(module, "Optimizer")
      .def("__init__",
           [](Optimizer* self, const std::string& kind, nb::handle target, nb::handle settings) {
             new (self) Optimizer(make_optimizer(kind, target, settings));
           })
      .def("step", &Optimizer::step, nb::call_guard<WorkWithoutGil>(),
           "One step by the gradients of the parameters; those without one are skipped.")
      .def("zero_grad", &Optimizer::zero_grad, "Takes the gradients away; they are no zeros then.")
      .def("_parameters",
           [](const Optimizer& self) {
             nb::list result;
             for (const Tensor& tensor : self.parameters()) result.append(wrap_tensor(tensor));
             return result;
           })
      .def("_group_count", &Optimizer::group_count)
      .def("_rate", &Optimizer::rate)
      .def("_set_rate", &Optimizer::set_rate)
      .def(
          "state_dict", [](const Optimizer& self) { return write_plain(self.state_dict()); },
          "What torch.optim would write: {'state': {...}, 'param_groups': [...]}.")
      .def(
          "load_state_dict",
          [](const Optimizer& self, nb::handle state) {
            self.load_state_dict(read_plain(state, "state"));
          },
          nb::arg("state"), "Of tierup or torch.optim; all differences are listed in the error.");
  nb::class_<Schedule>(module, "Schedule")
      .def("__init__",
           [](Schedule* self, nb::handle kind, const Optimizer& optimizer, nb::handle settings) {
             new (self) Schedule(make_schedule(kind, optimizer, settings));
           })
      .def(
          "step",
          [](const Schedule& self, std::optional<double> metric) {
            metric ? self.step(*metric) : self.step();
          },
          nb::arg("metric").none() = nb::none(),
          "The next rates; ReduceLROnPlateau takes a metric.")
      .def("rates", &Schedule::rates, "The rates of the optimiser's groups.")
      .def(
          "state_dict", [](const Schedule& self) { return write_plain(self.state_dict()); },
          "What torch.optim.lr_scheduler would write.")
      .def(
          "load_state_dict",
          [](const Schedule& self, nb::handle state) {
            self.load_state_dict(read_plain(state, "state"));
          },
          nb::arg("state"), "Of tierup or torch.optim.lr_scheduler.");
}

// ---- Epochs, checkpoints, files ----

TrainOptions read_train_options(nb::handle given) {
  TrainOptions options;
  const auto names = nb::cast<nb::dict>(given);
  const auto read = [&](const char* name, auto& into) {
    if (!names.contains(name)) return;
    const nb::object value = names[name];
    into = nb::cast<std::remove_reference_t<decltype(into)>>(value);
    nb::del(names[name]);
  };
  read("loss", options.loss);
  read("epochs", options.epochs);
  read("batch", options.batch);
  read("shuffle", options.shuffle);
  read("drop_last", options.drop_last);
  read("clip_norm", options.clip_norm);
  read("clip_value", options.clip_value);
  read("early_stop", options.early_stop);
  read("stop_at_nonfinite", options.stop_at_nonfinite);
  read("step_schedule_by_batch", options.step_schedule_by_batch);
  read("checkpoint", options.checkpoint);
  read("resume", options.resume);
  for (const auto& [name, value] : names) {
    PyErr_Format(PyExc_TypeError, "train() got an unexpected keyword argument %R", name.ptr());
    throw nb::python_error();
  }
  return options;
}

nb::dict report_dict(const TrainReport& report) {
  nb::dict result;
  result["epoch"] = report.epoch;
  result["loss"] = report.loss;
  result["accuracy"] = report.accuracy;
  result["validation_loss"] = report.validation_loss;
  result["validation_accuracy"] = report.validation_accuracy;
  result["rate"] = report.rate;
  result["seconds"] = report.seconds;
  result["is_best"] = report.is_best;
  return result;
}

nb::list train_model(const ModelHandle& model, const Optimizer& optimizer, const Schedule* schedule,
                     nb::handle data, nb::handle validation, nb::handle given,
                     nb::handle callback) {
  const Module module = model.get();
  const TrainOptions options = read_train_options(given);
  const NamedTensors columns = read_named_tensors(data);
  const NamedTensors unseen =
      validation.is_none() ? NamedTensors{} : read_named_tensors(validation);
  std::exception_ptr raised;
  // An epoch is long: signals are looked at, and the caller told, between two of them.
  const auto tell = [&](const TrainReport& report) {
    if (!poll_signals()) return false;
    const GilAcquired acquired;
    if (callback.is_none()) return true;
    try {
      return !callback(report_dict(report)).is(nb::handle(Py_False));
    } catch (nb::python_error&) {
      raised = std::current_exception();
      return false;
    }
  };
  std::vector<TrainReport> reports;
  const std::shared_ptr<CallbackFailures> failures = model.failure;
  try {
    const WorkWithoutGil released;
    reports = train(module, optimizer, schedule, columns, unseen, options, tell);
  } catch (const Error& error) {
    rethrow_of_signals();
    failures->rethrow(error);
    throw;
  }
  rethrow_of_signals();
  if (raised) std::rethrow_exception(raised);
  nb::list result;
  for (const TrainReport& report : reports) result.append(report_dict(report));
  return result;
}

void bind_files(nb::module_& module) {
  module.def("train", &train_model, nb::arg("model"), nb::arg("optimizer"),
             nb::arg("schedule").none(), nb::arg("data"), nb::arg("validation").none(),
             nb::arg("options"), nb::arg("callback").none());
  module.def("save", [](const ModelHandle& model, const std::string& path) {
    const Module saved = model.get();
    const WorkWithoutGil released;
    saved.save(path);
  });
  module.def("save_state_dict", [](const ModelHandle& model, const std::string& path) {
    const Module saved = model.get();
    const WorkWithoutGil released;
    saved.save_state_dict(path);
  });
  module.def(
      "save_checkpoint",
      [](const std::string& path, const ModelHandle& model, const Optimizer& optimizer,
         const Schedule* schedule,
         int64_t epoch) { save_checkpoint(path, model.get(), optimizer, schedule, epoch); },
      nb::arg("path"), nb::arg("model"), nb::arg("optimizer"), nb::arg("schedule").none(),
      nb::arg("epoch"));
  module.def(
      "load_checkpoint",
      [](const std::string& path, const ModelHandle& model, const Optimizer& optimizer,
         const Schedule* schedule) {
        return load_checkpoint(path, model.get(), optimizer, schedule);
      },
      nb::arg("path"), nb::arg("model"), nb::arg("optimizer"), nb::arg("schedule").none());
}

}  // namespace

void bind_tensor_gradients(nb::class_<Tensor>& type) {
  type.def_prop_rw(
      "requires_grad", [](const Tensor& self) { return requires_grad(self); },
      [](const Tensor& self, bool value) { set_requires_grad(self, value); },
      "Whether recorded calls keep what its gradient needs.");
  type.def_prop_ro(
      "is_leaf", [](const Tensor& self) { return is_leaf(self); },
      "Whether no recorded call made it.");
  type.def_prop_rw(
      "grad", [](const Tensor& self) { return tensor_or_none(grad_of(self)); },
      [](const Tensor& self, nb::handle gradient) {
        const std::vector<Tensor> given = read_tensors(gradient, "gradient");
        set_grad(self, given.empty() ? Tensor() : given.front());
      },
      nb::for_setter(nb::arg("gradient").none()),
      "The gradient that backward passes added up; None before the first.");
  type.def(
      "backward",
      [](nb::handle self, nb::handle gradient, std::optional<bool> retain_graph,
         bool create_graph) {
        run_backward(self, gradient, retain_graph, create_graph, nb::none());
      },
      nb::arg("gradient").none() = nb::none(), nb::arg("retain_graph").none() = nb::none(),
      nb::arg("create_graph") = false,
      "Adds the gradients of this result of Model.record to the leaves that it came from.");
  type.def(
      "detach", [](const Tensor& self) { return wrap_tensor(detach(self)); },
      "The same memory without a record.");
  type.def(
      "retain_grad", [](const Tensor& self) { retain_grad(self); },
      "Has a computed tensor keep its gradient.");
}

void bind_training(nb::module_& module) {
  bind_gradients(module);
  bind_optimizers(module);
  bind_files(module);
}

}  // namespace tierup::python
