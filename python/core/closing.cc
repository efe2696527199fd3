#include "closing.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace tierup::python {

namespace nb = nanobind;

namespace {

// Executors that threads wait for, by number.
struct Closing {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<uint64_t> open;
  uint64_t last = 0;
};

// Never destroyed: the threads may outlive every static object.
Closing& closing() {
  static Closing* const instance = new Closing;
  return *instance;
}

bool has_runs(const Executor& executor) {
  const ExecutorStats stats = executor.stats();
  return stats.frames_in_use + stats.runs_waiting + stats.runs_queued > 0;
}

uint64_t leave_to_a_thread(std::optional<Executor>& executor) {
  Closing& state = closing();
  uint64_t number = 0;
  {
    const std::lock_guard lock(state.mutex);
    number = ++state.last;
    state.open.insert(number);
  }
  // The handle itself goes to the thread: a copy that stays behind would be the last one.
  auto held = std::make_unique<std::optional<Executor>>();
  held->swap(executor);
  const auto leave = [number, &state] {
    const std::lock_guard lock(state.mutex);
    state.open.erase(number);
    state.changed.notify_all();
  };
  try {
    std::thread([held = std::move(held), leave] {
      held->reset();
      leave();
    }).detach();
  } catch (const std::system_error&) {
    leave();  // No thread to be had: the executor ended here.
  }
  return number;
}

// Whether the executor of this number went within a short time; without the GIL.
bool has_gone_soon(uint64_t number) {
  constexpr std::chrono::milliseconds kBetweenSignals(50);
  Closing& state = closing();
  const nb::gil_scoped_release released;
  std::unique_lock lock(state.mutex);
  return state.changed.wait_for(lock, kBetweenSignals,
                                [&] { return !state.open.contains(number); });
}

}  // namespace

void close_executor(std::optional<Executor>& executor, Wait wait) {
  if (!executor) return;
  std::optional<Executor> going;
  going.swap(executor);  // Nobody else closes it meanwhile.
  // A run that has just left the queue is in no count yet: one that seems idle may be waited for.
  const bool is_busy = has_runs(*going);
  const uint64_t number = leave_to_a_thread(going);
  if (is_busy && wait == Wait::kNo) return;
  while (!has_gone_soon(number)) {
    if (wait == Wait::kNo) return;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void finish_closing() {
  Closing& state = closing();
  const nb::gil_scoped_release released;
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.open.empty(); });
}

}  // namespace tierup::python
