#include "executor.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <set>

#include "closing.h"
#include "errors.h"
#include "values.h"

namespace tierup::python {
namespace {

void set_config(ExecutorConfig& config, const std::string& name, nb::handle value) {
  if (name == "max_frames") {
    config.max_frames = nb::cast<uint32_t>(value);
  } else if (name == "wait_for_frame") {
    config.wait_for_frame = nb::cast<bool>(value);
  } else if (name == "async_threads") {
    config.async_threads = nb::cast<uint32_t>(value);
  } else if (name == "max_queued") {
    config.max_queued = nb::cast<uint32_t>(value);
  } else if (name == "time_limit") {
    config.time_limit_ms = milliseconds(value);
  } else if (name == "frame_idle") {
    config.frame_idle_ms = milliseconds(value);
  } else if (name == "prepare_weights") {
    config.prepare_weights = nb::cast<bool>(value);
  } else {
    PyErr_Format(PyExc_TypeError, "Executor() got an unexpected keyword argument '%s'",
                 name.c_str());
    throw nb::python_error();
  }
}

ExecutorConfig read_config(nb::handle given) {
  ExecutorConfig config;
  read_each_option(
      given, [&](const std::string& name, nb::handle value) { set_config(config, name, value); });
  return config;
}

RunOptions run_options(nb::handle time_limit) {
  RunOptions options;
  if (!time_limit.is_none()) options.time_limit_ms = milliseconds(time_limit);
  options.on_poll = poll_signals;
  return options;
}

std::vector<Value> read_leaves(nb::handle leaves, const CarrierType** like) {
  ArgumentReader reader;
  std::vector<Value> values;
  for (const nb::handle leaf : leaves) {
    try {
      values.push_back(reader.read(leaf.ptr()));
    } catch (const ArgumentError& error) {
      raise_argument_error(error, "input " + std::to_string(values.size() + 1));
    }
  }
  if (like != nullptr) *like = reader.like();
  return values;
}

std::vector<Tensor> read_outputs(nb::handle outputs) {
  std::vector<Tensor> tensors;
  for (const nb::handle output : outputs) {
    try {
      tensors.push_back(read_tensor(output.ptr(), carrier_of(output.ptr()), Use::kWrite));
    } catch (const ArgumentError& error) {
      raise_argument_error(error, "output " + std::to_string(tensors.size() + 1));
    }
  }
  return tensors;
}

nb::dict stats(const ExecutorHandle& handle) {
  const ExecutorStats stats = handle.get()->get().stats();
  nb::dict result;
  result["runs"] = stats.runs;
  result["errors"] = stats.errors;
  result["frames_in_use"] = stats.frames_in_use;
  result["frames_peak"] = stats.frames_peak;
  result["frames_limit"] = stats.frames_limit;
  result["frames_idle"] = stats.frames_idle;
  result["frames_trimmed"] = stats.frames_trimmed;
  result["runs_waiting"] = stats.runs_waiting;
  result["runs_waited"] = stats.runs_waited;
  result["runs_refused"] = stats.runs_refused;
  result["runs_queued"] = stats.runs_queued;
  result["generation"] = stats.generation;
  result["generations_old"] = stats.generations_old;
  result["outputs_copied"] = stats.outputs_copied;
  return result;
}

uint64_t swap_weights(const ExecutorHandle& handle, nb::handle weights, bool strict) {
  const auto executor = handle.get();
  if (PyUnicode_Check(weights.ptr())) {
    const std::string path = nb::cast<std::string>(weights);
    const WorkWithoutGil released;
    return executor->get().swap_weights(path, strict);
  }
  const NamedTensors tensors = read_named_tensors(weights);
  const WorkWithoutGil released;
  return executor->get().swap_weights(tensors, strict);
}

// Makes the calling thread known to Python until it ends: done anew for each taking of the GIL, it
// costs two mappings of memory, 200 us where cores are virtual.
class ThreadOfPython {
 public:
  ThreadOfPython() : state_(PyGILState_Ensure()), thread_(PyEval_SaveThread()) {}
  ~ThreadOfPython() {
    const Entry entry;
    if (!entry.is_open()) return;
    PyEval_RestoreThread(thread_);
    PyGILState_Release(state_);
  }
  ThreadOfPython(const ThreadOfPython&) = delete;
  ThreadOfPython& operator=(const ThreadOfPython&) = delete;

 private:
  PyGILState_STATE state_;
  PyThreadState* thread_;
};

struct Prepared {
  std::optional<PreparedWeights> weights;
};

Prepared prepare(const ExecutorHandle& handle, nb::handle weights, bool strict) {
  const auto executor = handle.get();
  const NamedTensors tensors = read_named_tensors(weights);
  const WorkWithoutGil released;
  return Prepared{executor->get().prepare_weights(tensors, strict)};
}

uint64_t install(const ExecutorHandle& handle, Prepared& prepared) {
  const auto executor = handle.get();
  if (!prepared.weights) raise_error(ErrorCode::kInvalidArgument, "these weights were installed");
  PreparedWeights weights = std::move(*prepared.weights);
  prepared.weights.reset();
  const WorkWithoutGil released;
  return executor->get().install(std::move(weights));
}

}  // namespace

int64_t milliseconds(nb::handle seconds) {
  if (seconds.is_none()) return 0;
  const double number = nb::cast<double>(seconds);
  if (!(number > 0) || number > 9e15) {
    raise_error(ErrorCode::kInvalidArgument, "a time must be a positive number of seconds");
  }
  return std::max<int64_t>(1, std::llround(number * 1000));
}

// ---- Completions ----

Completions::Completions(nb::handle wake) : wake_(nb::borrow(wake).release().ptr()) {}

// The last reference may be a run's, which has no GIL.
Completions::~Completions() { drop_later(wake_); }

void Completions::push(Done done) {
  {
    const std::lock_guard lock(left_mutex());
    done_.push_back(std::move(done));
    if (std::exchange(announced_, true)) return;
  }
  const Entry entry;
  if (!entry.is_open()) return;
  static thread_local const ThreadOfPython stays;
  const GilAcquired acquired;
  drop_pending();
  PyObject* const result =
      entering_python([this] { return PyObject_CallFunctionObjArgs(wake_, nullptr); });
  if (result == nullptr) PyErr_WriteUnraisable(wake_);
  Py_XDECREF(result);
}

nb::list Completions::drain() {
  std::vector<Done> done;
  {
    const std::lock_guard lock(left_mutex());
    done.swap(done_);
    announced_ = false;
  }
  drop_pending();
  nb::list results;
  for (Done& item : done) {
    nb::object exception = nb::none();
    nb::object value = nb::none();
    try {
      flush_texts(*item.failure);
      if (item.error) {
        item.failure->rethrow(*item.error);
        exception = make_exception(*item.error);
      } else {
        value = write_value(item.value, item.kind, item.like);
      }
    } catch (nb::python_error& error) {
      exception = nb::borrow(error.value());
    } catch (const Error& error) {
      exception = make_exception(error);
    }
    results.append(nb::make_tuple(item.ticket, exception, value));
  }
  return results;
}

// ---- ExecutorHandle ----

namespace {

// With the GIL.
std::set<ExecutorHandle*>& handles() {
  static auto* const all = new std::set<ExecutorHandle*>;
  return *all;
}

}  // namespace

ExecutorHandle::ExecutorHandle(const ModelHandle& model, nb::handle config)
    : executor_(std::make_shared<SharedExecutor>(Executor(model.get(), read_config(config)))),
      results_(model.results),
      failure_(model.failure) {
  handles().insert(this);
}

// The garbage collector does not wait for runs.
ExecutorHandle::~ExecutorHandle() {
  handles().erase(this);
  close_executor(executor_, Wait::kNo);
}

void ExecutorHandle::close_all() {
  for (ExecutorHandle* handle : handles()) handle->executor_.reset();
}

std::shared_ptr<const SharedExecutor> ExecutorHandle::get() const {
  if (!executor_) raise_error(ErrorCode::kInvalidArgument, "the executor is closed");
  return executor_;
}

void ExecutorHandle::close() { close_executor(executor_, Wait::kForRuns); }

nb::object ExecutorHandle::run(nb::handle args, nb::handle kwargs, nb::handle time_limit) {
  const auto executor = get();
  Arguments arguments = read_arguments(args, kwargs);
  const RunOptions options = run_options(time_limit);
  const Value result = run_call(clock_, *failure_, [&] {
    const RunOf run(executor->number());
    return executor->get().run(std::move(arguments.positional), std::move(arguments.named),
                               options);
  });
  return write_value(result, results_, arguments.like);
}

nb::list ExecutorHandle::run_flat(nb::handle leaves, nb::handle time_limit) {
  const auto executor = get();
  const CarrierType* like = nullptr;
  std::vector<Value> values = read_leaves(leaves, &like);
  const RunOptions options = run_options(time_limit);
  const std::vector<Value> results = run_call(clock_, *failure_, [&] {
    const RunOf run(executor->number());
    return executor->get().run_flat(std::move(values), options);
  });
  nb::list items;
  for (const Value& value : results) items.append(write_value(value, results_, like));
  return items;
}

void ExecutorHandle::run_into(nb::handle leaves, nb::handle outputs, nb::handle time_limit) {
  const auto executor = get();
  const std::vector<Value> values = read_leaves(leaves, nullptr);
  const std::vector<Tensor> buffers = read_outputs(outputs);
  const RunOptions options = run_options(time_limit);
  run_call(clock_, *failure_, [&] {
    const RunOf run(executor->number());
    executor->get().run_into(std::span<const Value>(values), buffers, options);
    return true;
  });
}

void ExecutorHandle::start(nb::handle args, nb::handle kwargs, nb::handle time_limit,
                           const CancellationToken& token, const CompletionsHandle& sink,
                           uint64_t ticket) {
  const auto executor = get();
  Arguments arguments = read_arguments(args, kwargs);
  RunOptions options;
  if (!time_limit.is_none()) options.time_limit_ms = milliseconds(time_limit);
  options.cancellation = token;
  options.on_poll = [] { return !must_end(); };
  const CarrierType* const like = arguments.like;
  using Clock = std::chrono::steady_clock;
  executor->get().run_async(
      std::move(arguments.positional), std::move(arguments.named), options,
      [sink = sink.shared, ticket, kind = results_, like, failure = failure_, trip = round_trip_,
       begin = Clock::now(), number = executor->number()](Value value, const Error* error) {
        const RunOf run(number);
        trip->store(std::chrono::nanoseconds(Clock::now() - begin).count());
        sink->push({ticket, std::move(value),
                    error != nullptr ? std::optional<Error>(*error) : std::nullopt, kind, like,
                    failure});
      });
}

bool ExecutorHandle::is_quick() {
  const auto executor = get();
  const uint32_t frames = executor->get().config().max_frames;
  if (frames != 0 && executor->get().stats().frames_in_use >= frames)
    return false;  // It would wait.
  if (clock_.is_short()) return true;
  constexpr int64_t kWorthATrial = 300'000;  // Nanoseconds, most of which a wake-up may be.
  constexpr uint32_t kBetweenTrials = 32;
  return round_trip_->load() < kWorthATrial && ++asked_ % kBetweenTrials == 0;
}

namespace {

// A member function as a whole call from Python.
template <auto member, typename... Args>
auto in_call_of(ExecutorHandle& self, Args... args) {
  return in_call([&] { return (self.*member)(std::move(args)...); });
}

}  // namespace

void bind_executor(nb::module_& module) {
  nb::class_<CancellationToken>(module, "CancellationToken", "Stops runs from any thread.")
      .def(nb::init<>())
      .def("cancel", &CancellationToken::cancel, "Stops the runs that have it.")
      .def_prop_ro("cancelled", &CancellationToken::is_cancelled);
  nb::class_<CompletionsHandle>(module, "Completions")
      .def("__init__",
           [](CompletionsHandle* self, nb::handle wake) {
             new (self) CompletionsHandle{std::make_shared<Completions>(wake)};
           })
      .def("drain", [](const CompletionsHandle& self) { return self.shared->drain(); });
  nb::class_<Prepared>(module, "PreparedWeights",
                       "Weights that were checked and made ready, and wait to be installed.");
  nb::class_<ExecutorHandle> type(module, "Executor", nb::is_weak_referenceable());
  type.def(nb::init<const ModelHandle&, nb::handle>(), nb::arg("model"), nb::arg("config"));
  type.def("_run", in_call_of<&ExecutorHandle::run, nb::handle, nb::handle, nb::handle>,
           nb::arg("args"), nb::arg("kwargs"), nb::arg("time_limit").none());
  type.def(
      "run",
      [](ExecutorHandle& self, nb::args args, nb::kwargs kwargs) {
        return in_call([&] { return self.run(args, kwargs, nb::none()); });
      },
      "Runs the model as Python's module(*args, **kwargs) and waits for the result.");
  type.def("run_flat", in_call_of<&ExecutorHandle::run_flat, nb::handle, nb::handle>,
           nb::arg("leaves"), nb::arg("time_limit").none() = nb::none(),
           "Takes the flattened arguments in order, gives the flattened result.");
  type.def("run_into", in_call_of<&ExecutorHandle::run_into, nb::handle, nb::handle, nb::handle>,
           nb::arg("leaves"), nb::arg("outputs"), nb::arg("time_limit").none() = nb::none(),
           "Writes the flattened result into `outputs`: arrays of its shapes and dtypes.");
  type.def("_is_quick", &ExecutorHandle::is_quick);
  type.def("_start",
           in_call_of<&ExecutorHandle::start, nb::handle, nb::handle, nb::handle,
                      const CancellationToken&, const CompletionsHandle&, uint64_t>,
           nb::arg("args"), nb::arg("kwargs"), nb::arg("time_limit").none(), nb::arg("token"),
           nb::arg("sink"), nb::arg("ticket"));
  type.def("close", &ExecutorHandle::close, "Waits for the runs under way, and ends.");
  type.def_prop_ro("closed", &ExecutorHandle::is_closed, "Whether close() was called.");
  type.def("_weights", [](const ExecutorHandle& self) {
    return write_named_tensors(self.get()->get().weights());
  });
  type.def("_swap_weights", &swap_weights);
  type.def("_prepare_weights", &prepare);
  type.def("install", &install, nb::arg("weights"),
           "Installs prepared weights by one assignment; returns the generation's number.");
  type.def("_stats", &stats);
  type.def(
      "trim", [](const ExecutorHandle& self) { return self.get()->get().trim(); },
      "Gives back memory that no run used since the last call; returns how many frames.");
}

}  // namespace tierup::python
