#include "pending.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <utility>
#include <vector>

namespace tierup::python {
namespace {

enum class End : int { kNo, kBegun, kDone };

struct Pending {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> any{false};
  std::atomic<End> end{End::kNo};
  std::atomic<pthread_t> ending_thread{};  // Once the end has begun.
  std::atomic<int> held_runs{0};           // Written with the GIL alone, as are the next two.
  std::atomic<int> calls{0};
  std::atomic<int> under_way{0};
  std::atomic<int> entries{0};
};

// Never destroyed: threads of the runtime may outlive every static object.
Pending& pending() {
  static Pending* const instance = new Pending;
  return *instance;
}

thread_local int held_here = 0;

// Of one that is written with the GIL alone: cheaper than an atomic addition.
void add(std::atomic<int>& count, int number) {
  count.store(count.load(std::memory_order_relaxed) + number, std::memory_order_release);
}

thread_local int under_way_here = 0;
thread_local bool is_inside_here = false;  // And counted.
thread_local int64_t others_turn = 0;

bool ends_elsewhere(const Pending& state) {
  return state.end.load() != End::kNo && state.ending_thread.load() != pthread_self();
}

int drop_from_main(void*) {
  drop_pending();
  return 0;
}

}  // namespace

std::mutex& left_mutex() { return pending().mutex; }

void drop_later(PyObject* object) {
  // Not the last reference: nothing runs when it goes.
  if (held_here > 0 && Py_REFCNT(object) > 1) return Py_DECREF(object);
  Pending& state = pending();
  const Entry entry;
  if (!entry.is_open()) return;
  bool first = false;
  {
    const std::lock_guard lock(state.mutex);
    state.objects.push_back(object);
    first = !state.any.exchange(true);
  }
  // Should nobody call for long: the main thread does it between two of its own instructions.
  if (first) Py_AddPendingCall(drop_from_main, nullptr);
}

void drop_pending() {
  Pending& state = pending();
  if (!state.any.load(std::memory_order_acquire)) return;
  std::vector<PyObject*> objects;
  {
    const std::lock_guard lock(state.mutex);
    objects.swap(state.objects);
    state.any.store(false);
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

void begin_end() {
  pending().ending_thread.store(pthread_self());
  pending().end.store(End::kBegun);
}
void close_interpreter() { pending().end.store(End::kDone); }
bool interpreter_is_open() { return pending().end.load() != End::kDone; }

Entry::Entry() {
  pending().entries.fetch_add(1);
  is_open_ = interpreter_is_open();
}
Entry::~Entry() { pending().entries.fetch_sub(1); }
bool Entry::any() { return pending().entries.load() > 0; }

bool must_end() {
  const Pending& state = pending();
  return state.end.load(std::memory_order_relaxed) != End::kNo && ends_elsewhere(state);
}

void sleep_for_good() {
  for (;;) pause();
}
void refuse_at_the_end() {
  if (pending().end.load(std::memory_order_relaxed) == End::kNo) return;
  if (!ends_elsewhere(pending())) return;
  PyErr_SetString(PyExc_RuntimeError,
                  "the interpreter ends: no model runs in this thread any more");
  throw nanobind::python_error();
}

HeldRun::HeldRun() {
  ++held_here;
  others_turn = 0;
  add(pending().held_runs, 1);
}
HeldRun::~HeldRun() {
  --held_here;
  add(pending().held_runs, -1);
}
bool HeldRun::is_this_thread() { return held_here > 0; }
bool HeldRun::is_others_turn(int64_t now) {
  constexpr int64_t kTurn = 5'000'000;  // Nanoseconds, as threads of Python take turns.
  if (held_here == 0) return false;
  const bool is_due = others_turn != 0 && now >= others_turn;
  if (is_due || others_turn == 0) others_turn = now + kTurn;
  return is_due;
}
bool HeldRun::any() { return pending().held_runs.load() > 0; }

Inside::Inside() : is_counted_(!std::exchange(is_inside_here, true)) {
  if (is_counted_) add(pending().calls, 1);
}
Inside::~Inside() {
  if (!is_counted_) return;
  is_inside_here = false;
  add(pending().calls, -1);
}

UnderWay::UnderWay() : is_inside_(std::exchange(is_inside_here, false)) {
  ++under_way_here;
  add(pending().under_way, 1);
  if (is_inside_) add(pending().calls, -1);
}
UnderWay::~UnderWay() {
  if (pending().end.load() == End::kDone && ends_elsewhere(pending())) {
    PyEval_SaveThread();
    sleep_for_good();
  }
  --under_way_here;
  add(pending().under_way, -1);
  if (!is_inside_) return;
  is_inside_here = true;
  add(pending().calls, 1);
}
bool any_call_is_under_way() { return pending().calls.load() + pending().under_way.load() > 0; }
bool any_call_is_in_python() { return pending().calls.load() > (is_inside_here ? 1 : 0); }

void forget_other_threads() {
  pending().held_runs.store(held_here);
  pending().entries.store(0);
  pending().calls.store(is_inside_here ? 1 : 0);
  pending().under_way.store(under_way_here);
}

}  // namespace tierup::python
