// What calls into the library share: the GIL let go where that pays, callbacks into Python, and the
// exceptions of those.
#pragma once

#include <nanobind/nanobind.h>
#include <tierup/error.h>
#include <tierup/options.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "errors.h"
#include "gil.h"
#include "pending.h"

namespace tierup::python {

namespace nb = nanobind;

// Exceptions that callbacks of a model raised, until the runs that they end have ended. The library
// carries an error's message alone, which names the exception: calls that run side by side raise
// each its own.
class CallbackFailures {
 public:
  CallbackFailures() = default;
  ~CallbackFailures();
  CallbackFailures(const CallbackFailures&) = delete;
  CallbackFailures& operator=(const CallbackFailures&) = delete;
  // Keeps the exception, and throws the error that is to end the run. With the GIL, inside a catch
  // of nb::python_error.
  [[noreturn]] void end_run(nb::python_error& raised);
  // Raises the exception that ended the run, if one did. With the GIL.
  void rethrow(const Error& error);

 private:
  // By number, all under the GIL; the oldest first.
  std::map<uint64_t, PyObject*> exceptions_;
};

// A callable as a callback from any thread; what it raises is kept, and ends the run.
std::function<void(const std::string&)> text_callback(nb::handle callable,
                                                      std::shared_ptr<CallbackFailures> failures);

// Prints what was left by threads that must not wait for the GIL: what this thread left, and what
// threads of the library left for the model of `failures`. With the GIL.
void flush_texts(const CallbackFailures& failures);

// Marks that this thread calls a model, and prints itself what it leaves.
class Caller {
 public:
  Caller();
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
};

// Looks for signals that Python is to handle, at most every 50 ms and on the main thread alone;
// what a handler raises ends the run, and becomes its exception. Ends runs also when the
// interpreter ends. For RunOptions::on_poll.
bool poll_signals();
// Raises what a handler raised, in the thread whose run it ended. With the GIL.
void rethrow_of_signals();

// Times of some milliseconds' grain, for a fraction of what exact ones cost.
inline int64_t coarse_time() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// How long calls of one model take, so that the GIL is kept where letting it go costs more.
class CallClock {
 public:
  static constexpr int64_t kShort = 10'000;       // Nanoseconds; two switches of the GIL cost 60.
  static constexpr int64_t kCoarse = 20'000'000;  // Above the grain of coarse times, wherever.
  bool is_short() const { return usual_.load(std::memory_order_relaxed) < kShort; }
  // A call that was interrupted says little; one that took many of the scheduler's turns is long.
  void add(int64_t nanoseconds) {
    const int64_t old = usual_.load(std::memory_order_relaxed);
    const int64_t told = nanoseconds < kCoarse ? std::min(nanoseconds, 4 * old + 1) : nanoseconds;
    usual_.store(old + (told - old) / 4, std::memory_order_relaxed);
  }
  // Whether the next call is to be timed exactly: while calls are short, one of some.
  bool is_exact() {
    constexpr uint32_t kBetween = 16;
    return !is_short() || calls_.fetch_add(1, std::memory_order_relaxed) % kBetween == 0;
  }

 private:
  std::atomic<int64_t> usual_{2 * kShort};
  std::atomic<uint32_t> calls_{0};
};

// What `body` gives, a whole call from Python, its errors made into Python's.
template <typename Body>
auto in_call(Body&& body) {
  refuse_at_the_end();
  const Inside inside;
  try {
    return body();
  } catch (...) {
    set_python_error();
  }
  throw nb::python_error();
}

// Runs `body` without the GIL, or with it if calls of `clock`'s model are short.
template <typename Body>
auto run_call(CallClock& clock, CallbackFailures& failures, Body&& body) {
  using Clock = std::chrono::steady_clock;
  const bool is_exact = clock.is_exact();
  const auto now = [is_exact]() -> int64_t {
    return is_exact ? Clock::now().time_since_epoch().count() : coarse_time();
  };
  const Caller caller;
  const int64_t begin = now();
  const auto finish = [&] {
    const int64_t took = now() - begin;
    if (is_exact || took > CallClock::kCoarse) clock.add(took);
    drop_pending();
    flush_texts(failures);
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
      const WorkWithoutGil released;
      result.emplace(body());
    }
    finish();
    return std::move(*result);
  } catch (const Error& error) {
    finish();
    rethrow_of_signals();
    failures.rethrow(error);
    throw;
  }
}

}  // namespace tierup::python
