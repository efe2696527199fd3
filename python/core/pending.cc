#include "pending.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tierup::python {
namespace {

struct Pending {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  std::atomic<bool> any{false};
  std::atomic<bool> open{true};
  std::atomic<int> held_runs{0};
};

// Never destroyed: threads of the runtime may outlive every static object.
Pending& pending() {
  static Pending* const instance = new Pending;
  return *instance;
}

thread_local int held_here = 0;

int drop_from_main(void*) {
  drop_pending();
  return 0;
}

}  // namespace

void drop_later(PyObject* object) {
  // Not the last reference: nothing runs when it goes.
  if (held_here > 0 && Py_REFCNT(object) > 1) return Py_DECREF(object);
  Pending& state = pending();
  if (!state.open.load()) return;
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

void close_interpreter() { pending().open.store(false); }
bool interpreter_is_open() { return pending().open.load(); }

HeldRun::HeldRun() {
  ++held_here;
  pending().held_runs.fetch_add(1);
}
HeldRun::~HeldRun() {
  --held_here;
  pending().held_runs.fetch_sub(1);
}
bool HeldRun::is_this_thread() { return held_here > 0; }
bool HeldRun::any() { return pending().held_runs.load() > 0; }

}  // namespace tierup::python
