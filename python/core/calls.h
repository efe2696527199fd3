// What calls into the library share: the GIL let go where that pays, callbacks into Python, and the
// exceptions of those.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/error.h>
#include <tierup/options.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "pending.h"

namespace tierup::python {

namespace nb = nanobind;

// The first exception that a callback of a model raised; it becomes the call's.
class CallbackFailure {
 public:
  // With the GIL, inside a catch of nb::python_error.
  void keep(nb::python_error& error);
  // Rethrows what was kept, with the GIL.
  void rethrow();

 private:
  std::atomic<PyObject*> exception_{nullptr};
};

// A callable as a callback from any thread; what it raises is kept, and ends the run.
std::function<void(const std::string&)> text_callback(nb::handle callable,
                                                      std::shared_ptr<CallbackFailure> failure);

// Prints what threads left that must not wait for the GIL. With the GIL.
void flush_texts();

// Looks for signals that Python is to handle, at most every 50 ms and on the main thread alone;
// what a handler raises ends the run, and becomes its exception. For RunOptions::on_poll.
bool poll_signals();
// Of those handlers.
CallbackFailure& signal_failure();

// How long calls of one model take, so that the GIL is kept where letting it go costs more.
class CallClock {
 public:
  static constexpr int64_t kShort = 10'000;  // Nanoseconds; two switches of the GIL cost 60.
  bool is_short() const { return usual_.load(std::memory_order_relaxed) < kShort; }
  void add(int64_t nanoseconds) {
    const int64_t old = usual_.load(std::memory_order_relaxed);
    usual_.store(old + (nanoseconds - old) / 4, std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> usual_{2 * kShort};
};

// Runs `body` without the GIL, or with it if calls of `clock`'s model are short.
template <typename Body>
auto run_call(CallClock& clock, CallbackFailure& failure, Body&& body) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto finish = [&] {
    clock.add(std::chrono::nanoseconds(Clock::now() - begin).count());
    drop_pending();
    flush_texts();
  };
  try {
    if (clock.is_short()) {
      const HeldRun held;
      auto result = body();
      finish();
      return result;
    }
    std::optional<decltype(body())> result;
    {
      const nb::gil_scoped_release released;
      result.emplace(body());
    }
    finish();
    return std::move(*result);
  } catch (const Error&) {
    finish();
    signal_failure().rethrow();
    failure.rethrow();
    throw;
  }
}

}  // namespace tierup::python
