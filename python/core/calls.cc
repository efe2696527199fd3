#include "calls.h"

#include <nanobind/stl/string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
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

constexpr std::string_view kRaised = "a callback raised exception ";

thread_local int calls_of_this_thread = 0;

// A text of a thread that must not wait for the GIL, since who has it may be waiting for it.
struct LateText {
  std::shared_ptr<Callable> callable;
  const CallbackFailures* model;
  std::thread::id caller;  // None: a thread of the library.
  std::string text;

  bool is_for(const CallbackFailures& failures) const {
    return caller == std::this_thread::get_id() ||
           (caller == std::thread::id() && model == &failures);
  }
};
struct LateTexts {
  std::vector<LateText> texts;  // Under left_mutex().
  std::atomic<bool> any{false};
};
LateTexts& late_texts() {
  static LateTexts* const instance = new LateTexts;
  return *instance;
}

void call_with_text(const Callable& callable, const std::string& text, CallbackFailures& failures) {
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
    failures.end_run(error);
  }
}

// Takes over the reference.
[[noreturn]] void raise(PyObject* exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  throw nb::python_error();
}

bool is_main_thread() { return syscall(SYS_gettid) == getpid(); }

// What a handler of signals raised, of runs of the main thread.
PyObject*& raised_by_signal() {
  static PyObject* exception = nullptr;
  return exception;
}

bool check_signals() {
  if (PyErr_CheckSignals() == 0) return true;
  try {
    throw nb::python_error();
  } catch (nb::python_error& error) {
    if (raised_by_signal() == nullptr) {
      raised_by_signal() = nb::borrow(error.value()).release().ptr();
    }
  }
  return false;
}

}  // namespace

void rethrow_of_signals() {
  if (raised_by_signal() == nullptr || !is_main_thread()) return;
  raise(std::exchange(raised_by_signal(), nullptr));
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
  if (!is_main_thread()) return true;
  if (HeldRun::is_this_thread()) return check_signals();
  const GilAcquired acquired;
  return check_signals();
}

CallbackFailures::~CallbackFailures() {
  for (const auto& [number, exception] : exceptions_) drop_later(exception);
}

void CallbackFailures::end_run(nb::python_error& raised) {
  static uint64_t last = 0;
  exceptions_.emplace(++last, nb::borrow(raised.value()).release().ptr());
  // Of one that ended no run, such as a branch's beside another that failed, nobody asks.
  constexpr size_t kMost = 1024;
  if (exceptions_.size() > kMost) Py_DECREF(exceptions_.extract(exceptions_.begin()).mapped());
  raise_error(ErrorCode::kCancelled, std::string(kRaised) + std::to_string(last));
}

void CallbackFailures::rethrow(const Error& error) {
  if (exceptions_.empty()) return;
  const std::string& message = error.message();
  const size_t at = message.rfind(kRaised);
  if (at == std::string::npos) return;
  const auto kept = exceptions_.extract(std::strtoull(&message[at + kRaised.size()], nullptr, 10));
  if (!kept.empty()) raise(kept.mapped());
}

Caller::Caller() { ++calls_of_this_thread; }
Caller::~Caller() { --calls_of_this_thread; }

std::function<void(const std::string&)> text_callback(nb::handle callable,
                                                      std::shared_ptr<CallbackFailures> failures) {
  return [held = std::make_shared<Callable>(callable), failures](const std::string& text) {
    const Entry entry;
    if (!entry.is_open()) return;
    if (HeldRun::is_this_thread()) return call_with_text(*held, text, *failures);
    if (HeldRun::any()) {
      LateTexts& late = late_texts();
      const std::lock_guard lock(left_mutex());
      const bool is_caller = calls_of_this_thread > 0;
      late.texts.emplace_back(held, failures.get(),
                              is_caller ? std::this_thread::get_id() : std::thread::id(), text);
      late.any.store(true);
      return;
    }
    const GilAcquired acquired;
    call_with_text(*held, text, *failures);
  };
}

void flush_texts(const CallbackFailures& failures) {
  LateTexts& late = late_texts();
  if (!late.any.load(std::memory_order_acquire)) return;
  std::vector<LateText> texts;
  {
    const std::lock_guard lock(left_mutex());
    const auto mine =
        std::stable_partition(late.texts.begin(), late.texts.end(),
                              [&](const LateText& text) { return !text.is_for(failures); });
    std::move(mine, late.texts.end(), std::back_inserter(texts));
    late.texts.erase(mine, late.texts.end());
    late.any.store(!late.texts.empty());
  }
  for (const LateText& late_text : texts) {
    nb::handle(late_text.callable->get())(nb::str(late_text.text.c_str(), late_text.text.size()));
  }
}

}  // namespace tierup::python
