#include "calls.h"

#include <nanobind/stl/string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tierup::python {
namespace {

// A callable that threads may hold: its last reference may go where there is no GIL.
class Callable {
 public:
  explicit Callable(nb::handle callable) : object_(nb::borrow(callable).release().ptr()) {}
  ~Callable() { drop_later(object_); }
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

// Texts of threads that must not wait for the GIL, since who has it may be waiting for them.
struct LateTexts {
  std::vector<std::pair<std::shared_ptr<Callable>, std::string>> texts;  // Under left_mutex().
  std::atomic<bool> any{false};
};
LateTexts& late_texts() {
  static LateTexts* const instance = new LateTexts;
  return *instance;
}

void call_with_text(const Callable& callable, const std::string& text, CallbackFailure& failure) {
  PyObject* const argument =
      PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  PyObject* const result = argument == nullptr ? nullptr : entering_python([&] {
    return PyObject_CallFunctionObjArgs(callable.get(), argument, nullptr);
  });
  Py_XDECREF(argument);
  Py_XDECREF(result);
  if (result != nullptr) return;
  try {
    throw nb::python_error();
  } catch (nb::python_error& error) {
    failure.keep(error);
    throw Error(ErrorCode::kCancelled, "a callback raised an exception", {}, {},
                "a callback raised an exception");
  }
}

bool check_signals() {
  if (PyErr_CheckSignals() == 0) return true;
  try {
    throw nb::python_error();
  } catch (nb::python_error& error) {
    signal_failure().keep(error);
  }
  return false;
}

}  // namespace

CallbackFailure& signal_failure() {
  static CallbackFailure* const failure = new CallbackFailure;  // Of the main thread.
  return *failure;
}

bool poll_signals() {
  constexpr int64_t kBetween = 50'000'000;
  static thread_local int64_t next = 0;
  if (must_end()) return false;
  const int64_t now = coarse_time();
  if (HeldRun::is_others_turn(now)) GilReleased();
  if (now < next) return true;
  next = now + kBetween;
  // Asked each time: a thread that forks is its child's main one.
  if (syscall(SYS_gettid) != getpid()) return true;
  if (HeldRun::is_this_thread()) return check_signals();
  const GilAcquired acquired;
  return check_signals();
}

void CallbackFailure::keep(nb::python_error& error) {
  PyObject* const value = nb::borrow(error.value()).release().ptr();
  PyObject* expected = nullptr;
  if (!exception_.compare_exchange_strong(expected, value)) Py_DECREF(value);
}

void CallbackFailure::rethrow() {
  PyObject* const value = exception_.exchange(nullptr);
  if (value == nullptr) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value)), value);
  Py_DECREF(value);
  throw nb::python_error();
}

std::function<void(const std::string&)> text_callback(nb::handle callable,
                                                      std::shared_ptr<CallbackFailure> failure) {
  return [held = std::make_shared<Callable>(callable), failure](const std::string& text) {
    const Entry entry;
    if (!entry.is_open()) return;
    if (HeldRun::is_this_thread()) return call_with_text(*held, text, *failure);
    if (HeldRun::any()) {
      LateTexts& late = late_texts();
      const std::lock_guard lock(left_mutex());
      late.texts.emplace_back(held, text);
      late.any.store(true);
      return;
    }
    const GilAcquired acquired;
    call_with_text(*held, text, *failure);
  };
}

void flush_texts() {
  LateTexts& late = late_texts();
  if (!late.any.load(std::memory_order_acquire)) return;
  std::vector<std::pair<std::shared_ptr<Callable>, std::string>> texts;
  {
    const std::lock_guard lock(left_mutex());
    texts.swap(late.texts);
    late.any.store(false);
  }
  for (const auto& [callable, text] : texts) {
    nb::handle(callable->get())(nb::str(text.c_str(), text.size()));
  }
}

}  // namespace tierup::python
