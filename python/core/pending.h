// What threads without the interpreter leave for one that has it: references to drop, texts to
// print.
//
// A run may end the last use of an array in any thread of the runtime's, and print from one. Such a
// thread never waits for the GIL: the thread that has it may itself be waiting for that thread.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <mutex>

namespace tierup::python {

// The one lock of what threads leave for each other here. A fork holds it, so that what it guards
// is whole in the child.
std::mutex& left_mutex();

// Drops a reference later, with the GIL. From any thread, also after the interpreter has ended.
void drop_later(PyObject* object);
// Drops what was left. With the GIL; called after each run.
void drop_pending();

// The end of the interpreter begins, in the calling thread: runs of other threads are cancelled,
// and calls from there refused.
void begin_end();
// No reference is dropped, and no Python code entered, from here on.
void close_interpreter();
bool interpreter_is_open();

// A thread's way into Python and back out of it.
class Entry {
 public:
  Entry();
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  // False once the interpreter is closed: the thread must not go in.
  bool is_open() const { return is_open_; }
  // Whether a thread is under way that found it open.
  static bool any();

 private:
  bool is_open_;
};
// Whether runs of this thread are to end, for the interpreter does.
bool must_end();
[[noreturn]] void sleep_for_good();

// Marks that this thread runs a model with the GIL held.
class HeldRun {
 public:
  HeldRun();
  ~HeldRun();
  HeldRun(const HeldRun&) = delete;
  HeldRun& operator=(const HeldRun&) = delete;
  static bool is_this_thread();
  static bool any();
  // Whether this thread runs one for so long that other threads are to have the GIL for once.
  static bool is_others_turn(int64_t now);
};

// A call from Python, in which Python code may run as well; with the GIL at both ends. The end of
// the interpreter waits for it: a thread that it ends inside of one would end the process.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const bool is_counted_;  // Not within another.
};
// Work of the library without the GIL, for which it waits, too, until it is told not to: then the
// thread sleeps for good when it comes back. With the GIL at both ends.
class UnderWay {
 public:
  UnderWay();
  ~UnderWay();
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  const bool is_inside_;  // A call, which is not counted meanwhile.
};
bool any_call_is_under_way();  // Of either kind.
bool any_call_is_in_python();  // Of the first kind, in another thread.
// Raises RuntimeError if the interpreter ends, or has ended, in another thread. With the GIL.
void refuse_at_the_end();

// In a forked child, whose one thread forked: the others' runs are none of it.
void forget_other_threads();

}  // namespace tierup::python
