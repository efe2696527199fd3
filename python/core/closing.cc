#include "closing.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "gil.h"
#include "pending.h"

namespace tierup::python {

namespace nb = nanobind;

namespace {

constexpr std::chrono::milliseconds kBetweenSignals(50);

// Under left_mutex().
struct Closing {
  std::condition_variable changed;
  std::map<uint64_t, bool> executors;  // That are not gone, by number: whether a thread ends it.
  uint64_t last = 0;
  uint64_t last_inherited = 0;  // By this process from the one that forked it.
};

// Never destroyed: the threads may outlive every static object.
Closing& closing() {
  static Closing* const instance = new Closing;
  return *instance;
}

bool any_is_left_to_a_thread() {
  for (const auto& [number, is_left] : closing().executors) {
    if (is_left) return true;
  }
  return false;
}

uint64_t next_number() {
  const std::lock_guard lock(left_mutex());
  const uint64_t number = ++closing().last;
  closing().executors[number] = false;
  return number;
}

bool has_runs(const Executor& executor) {
  const ExecutorStats stats = executor.stats();
  return stats.frames_in_use + stats.runs_waiting + stats.runs_queued > 0;
}

void forget(uint64_t number) {
  const std::lock_guard lock(left_mutex());
  closing().executors.erase(number);
  closing().changed.notify_all();
}

void leave_to_a_thread(std::optional<Executor>& executor, uint64_t number) {
  {
    const std::lock_guard lock(left_mutex());
    closing().executors[number] = true;
  }
  // The handle itself goes to the thread: a copy that stays behind would be the last one.
  auto held = std::make_unique<std::optional<Executor>>();
  held->swap(executor);
  try {
    std::thread([held = std::move(held), number] {
      held->reset();
      forget(number);
    }).detach();
  } catch (const std::system_error&) {
    forget(number);  // No thread to be had: the executor ended here.
  }
}

// Whether `is_so` becomes true within a short time; without the GIL.
template <typename Condition>
bool becomes_soon(Condition is_so) {
  const GilReleased released;
  std::unique_lock lock(left_mutex());
  return closing().changed.wait_for(lock, kBetweenSignals, is_so);
}

// Returns once it is; a signal's handler may end it by raising.
template <typename Condition>
void wait_until(Condition is_so) {
  while (!becomes_soon(is_so)) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// Returns once it is, looked at with the GIL. What signals' handlers raise is dropped at first; who
// sends more after a while ends the process at once, as a signal does that nobody handles.
template <typename Condition>
void wait_through_signals_until(Condition is_so) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience(2);
  const Clock::time_point begin = Clock::now();
  while (!is_so()) {
    becomes_soon(is_so);
    if (PyErr_CheckSignals() == 0) continue;
    PyErr_Clear();
    if (Clock::now() - begin > kPatience) _exit(128 + SIGINT);
  }
}

thread_local const RunOf* innermost_run = nullptr;

// The others' threads are not in the child, nor what they ended.
void renew_in_child() {
  Closing& state = closing();
  new (&state.changed) std::condition_variable;
  std::erase_if(state.executors, [](const auto& entry) { return entry.second; });
  state.last_inherited = state.last;
  forget_other_threads();
  left_mutex().unlock();
}

}  // namespace

bool is_run_of(uint64_t number) {
  for (const RunOf* run = innermost_run; run != nullptr; run = run->outer_) {
    if (run->number_ == number) return true;
  }
  return false;
}

SharedExecutor::SharedExecutor(Executor executor)
    : executor_(std::move(executor)), number_(next_number()) {}
SharedExecutor::~SharedExecutor() { leave_to_a_thread(executor_, number_); }

RunOf::RunOf(uint64_t number) : number_(number), outer_(innermost_run) { innermost_run = this; }
RunOf::~RunOf() { innermost_run = outer_; }

void close_executor(std::shared_ptr<SharedExecutor>& executor, Wait wait) {
  if (!executor) return;
  std::shared_ptr<SharedExecutor> going;
  going.swap(executor);  // Nobody else closes it meanwhile.
  const uint64_t number = going->number();
  const bool is_shared = going.use_count() > 1;
  // Those who share an inherited one may be threads of the process that forked.
  const bool is_never_gone = is_shared && number <= closing().last_inherited;
  const bool waits = wait == Wait::kForRuns && !is_run_of(number) && !is_never_gone;
  // A run that has just left the queue is in no count yet: one that seems idle may be waited for.
  if (!waits && (is_shared || has_runs(going->get()))) return;
  going.reset();
  const auto is_gone = [&] { return !closing().executors.contains(number); };
  if (waits) return wait_until(is_gone);
  becomes_soon(is_gone);
}

void end_interpreter() {
  begin_end();
  std::exception_ptr raised;
  try {
    wait_until([] { return !any_is_left_to_a_thread() && !any_call_is_under_way(); });
  } catch (const nb::python_error&) {
    raised = std::current_exception();
  }
  // What no signal may leave: threads that would come out of Python code where none is any more.
  wait_through_signals_until([] { return !any_call_is_in_python(); });
  close_interpreter();
  wait_through_signals_until([] { return !Entry::any(); });
  if (raised) std::rethrow_exception(raised);
}

// Before the library's own steps are known, so that they come before this one's: they wait for
// runs, whose ends take this lock.
void watch_forks() {
  pthread_atfork([] { left_mutex().lock(); }, [] { left_mutex().unlock(); }, renew_in_child);
}

}  // namespace tierup::python
