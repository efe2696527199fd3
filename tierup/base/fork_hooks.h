// fork_hooks: what becomes of background threads when the process forks.
//
// A forked child has one thread, the one that forked. Locks that others held stay locked there,
// their work is half done, and threads that objects name do not exist. Hence, before a fork:
//   1. owners of threads begin no new background work (ForkHooks::Steps::pause);
//   2. fork() waits, for a second at most, until no other thread is inside a ForkUnsafeScope: runs
//      of models, loads, compile jobs;
//   3. owners take their locks (lock), so that what these guard is whole in the child.
// The parent then goes on as before (resume). The child forgets the threads (renew), which are
// made anew when they are first needed. If a thread was inside a ForkUnsafeScope after all, nobody
// knows what it left behind: the child's runs and loads fail with a clear error instead of waiting
// for ever (require_whole_process).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <thread>
#include <vector>

namespace tierup {

// The steps of one owner of threads. To be declared as its last member: the steps may be called
// from the constructor's end to the destructor's begin.
class ForkHooks {
 public:
  struct Steps {
    std::function<void()> pause;   // May be empty.
    std::function<void()> lock;    // Holds its locks until resume() or renew().
    std::function<void()> resume;  // In the parent.
    std::function<void()> renew;   // In the child, which has no other thread.
  };
  explicit ForkHooks(Steps steps);
  ~ForkHooks();
  ForkHooks(const ForkHooks&) = delete;
  ForkHooks& operator=(const ForkHooks&) = delete;

  const Steps& steps() const { return steps_; }

 private:
  const Steps steps_;
};

// Stands around what cannot be gone on with in a forked child: it takes locks of all kinds. Costs
// two stores to memory of this thread's own. Scopes may nest.
class ForkUnsafeScope {
 public:
  ForkUnsafeScope();
  ~ForkUnsafeScope();
  ForkUnsafeScope(const ForkUnsafeScope&) = delete;
  ForkUnsafeScope& operator=(const ForkUnsafeScope&) = delete;
};

// Throws kUnsupported in a process that was forked while another thread was inside a
// ForkUnsafeScope, and in its children.
void require_whole_process();

// Puts a new object in the place of one that threads of the parent used, without the old one's
// destructor: it would wait for them. For condition variables and thread handles.
template <typename T>
void renew_in_child(T& object) {
  new (&object) T();
}
inline void forget_threads(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) renew_in_child(thread);
  threads.clear();
}

}  // namespace tierup
