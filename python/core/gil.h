// The GIL let go and taken again, by threads that may come back after the interpreter has ended.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include "pending.h"

namespace tierup::python {

// What `enter` gives, which takes the GIL or runs Python code, and must own no objects. CPython
// before 3.14 unwinds the stack of a thread that does so after the interpreter has ended, and C++'s
// destructors would end the process: such a thread sleeps for good.
template <typename Enter>
auto entering_python(Enter&& enter) -> decltype(enter()) {
  try {
    return enter();
  } catch (abi::__forced_unwind&) {
    sleep_for_good();
  }
}

// Without the GIL for its lifetime.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    entering_python([this] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// Work of the library without the GIL.
class WorkWithoutGil {
 private:
  const UnderWay under_way_;
  const GilReleased released_;
};

// With the GIL for its lifetime, on a thread that may be unknown to Python.
class GilAcquired {
 public:
  GilAcquired() : state_(entering_python([] { return PyGILState_Ensure(); })) {}
  ~GilAcquired() { PyGILState_Release(state_); }
  GilAcquired(const GilAcquired&) = delete;
  GilAcquired& operator=(const GilAcquired&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace tierup::python
