// What threads without the interpreter leave for one that has it: references to drop, texts to
// print.
//
// A run may end the last use of an array in any thread of the runtime's, and print from one. Such a
// thread never waits for the GIL: the thread that has it may itself be waiting for that thread.
#pragma once

#include <nanobind/nanobind.h>

namespace tierup::python {

// Drops a reference later, with the GIL. From any thread, also after the interpreter has ended.
void drop_later(PyObject* object);
// Drops what was left. With the GIL; called after each run.
void drop_pending();
// No reference is dropped, and no Python code entered, from here on: the interpreter ends.
void close_interpreter();
bool interpreter_is_open();

// Marks that this thread runs a model with the GIL held.
class HeldRun {
 public:
  HeldRun();
  ~HeldRun();
  HeldRun(const HeldRun&) = delete;
  HeldRun& operator=(const HeldRun&) = delete;
  static bool is_this_thread();
  static bool any();
};

}  // namespace tierup::python
