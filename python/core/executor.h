// Executor and what completes its runs, as Python holds them.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/executor.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "closing.h"
#include "model.h"

namespace tierup::python {

// Results of runs in the background, on their way to one event loop or thread. A run that ends puts
// its result here, and calls `wake` only if nobody was called since the last drain(): many ends
// cost one taking of the GIL.
class Completions {
 public:
  explicit Completions(nb::handle wake);
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  struct Done {
    uint64_t ticket;
    Value value;
    std::optional<Error> error;
    ResultKind kind;
    const CarrierType* like;
    std::shared_ptr<CallbackFailures> failure;
  };
  // From any thread, without the GIL.
  void push(Done done);
  // [(ticket, exception or None, result)], in the order of their ends.
  nb::list drain();

 private:
  // Under left_mutex().
  std::vector<Done> done_;
  bool announced_ = false;
  PyObject* wake_;
};

// As Python holds them: runs share what is inside, and nothing of Python's.
struct CompletionsHandle {
  std::shared_ptr<Completions> shared;
};

class ExecutorHandle {
 public:
  // Over a model, with the keyword arguments of tierup.Executor.
  ExecutorHandle(const ModelHandle& model, nb::handle config);

  ~ExecutorHandle();
  ExecutorHandle(const ExecutorHandle&) = delete;
  ExecutorHandle& operator=(const ExecutorHandle&) = delete;

  // Throws once it is closed.
  std::shared_ptr<const SharedExecutor> get() const;
  bool is_closed() const { return executor_ == nullptr; }
  // Waits for the runs under way.
  void close();
  // Closes all that there are, and waits for nothing.
  static void close_all();

  nb::object run(nb::handle args, nb::handle kwargs, nb::handle time_limit);
  nb::list run_flat(nb::handle leaves, nb::handle time_limit);
  void run_into(nb::handle leaves, nb::handle outputs, nb::handle time_limit);
  void start(nb::handle args, nb::handle kwargs, nb::handle time_limit,
             const CancellationToken& token, const CompletionsHandle& sink, uint64_t ticket);
  // Whether a run ends sooner than handing it to a thread would take, as far as is known. Now and
  // then true for runs of which only the way through a thread is known, so that they are timed.
  bool is_quick();

 private:
  std::shared_ptr<SharedExecutor> executor_;
  ResultKind results_;
  CallClock clock_;
  // Nanoseconds from start() to the end of its run, as they usually are.
  std::shared_ptr<std::atomic<int64_t>> round_trip_ =
      std::make_shared<std::atomic<int64_t>>(std::numeric_limits<int64_t>::max());
  uint32_t asked_ = 0;
  std::shared_ptr<CallbackFailures> failure_;
};

// Seconds, as everywhere in Python, at least one millisecond; None gives 0.
int64_t milliseconds(nb::handle seconds);
void bind_executor(nb::module_& module);

}  // namespace tierup::python
