// The end of executors whose runs are under way: threads of their own wait for those.
//
// The last handle's destructor waits for the runs, however long they take. Neither the garbage
// collector nor a call that ends while others go on must wait so, and who calls close() must be
// able to interrupt it.
#pragma once

#include <tierup/executor.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace tierup::python {

// An executor, shared by its handle and its calls under way. Whoever lets go of it last leaves it
// to a thread, and waits for nothing.
class SharedExecutor {
 public:
  explicit SharedExecutor(Executor executor);
  ~SharedExecutor();
  SharedExecutor(const SharedExecutor&) = delete;
  SharedExecutor& operator=(const SharedExecutor&) = delete;

  const Executor& get() const { return *executor_; }
  uint64_t number() const { return number_; }

 private:
  std::optional<Executor> executor_;
  const uint64_t number_;
};

// Says that this thread is inside a run of an executor, or of what is called at its end.
class RunOf {
 public:
  explicit RunOf(uint64_t number);
  ~RunOf();
  RunOf(const RunOf&) = delete;
  RunOf& operator=(const RunOf&) = delete;

 private:
  const uint64_t number_;
  const RunOf* const outer_;
  friend bool is_run_of(uint64_t number);
};

enum class Wait : bool { kNo, kForRuns };

// Empties `executor`, with the GIL; runs under way end as they would. Wait::kForRuns returns when
// they have, at once inside one of them, and throws nb::python_error if a signal's handler raises
// before: the runs go on.
void close_executor(std::shared_ptr<SharedExecutor>& executor, Wait wait);

// The end of the interpreter, in the calling thread: cancels all runs, returns when none is under
// way, and all executors are gone that were let go of. Throws nb::python_error if a signal's
// handler raises before; Python code that calls run is waited for all the same.
void end_interpreter();
// What this keeps is whole in forked children from here on.
void watch_forks();

}  // namespace tierup::python
