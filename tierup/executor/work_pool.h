// WorkPool: a bounded queue of tasks on a few threads, for runs whose callers do not wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tierup/base/fork_hooks.h"

namespace tierup::executor {

// Thread rule: any thread. Threads start when there is work for them; idle ones sleep, and the one
// that slept the shortest takes the next task: it has its team of OpenMP's threads, and its data in
// the caches. One that sleeps longer ends its team, if others have one (base/workers.h). After a
// fork, tasks that waited are the parent's alone: the child drops them, and starts threads for its
// own.
class WorkPool {
 public:
  WorkPool(size_t max_threads, size_t max_queued);
  // Runs what is queued, then ends.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // Done by one thread. Neither part may throw; `tell` is short, and may lead to the next task: the
  // thread that tells takes it, if it is back soon.
  struct Task {
    std::function<void()> run;
    std::function<void()> tell;
  };
  // False if the queue is full.
  bool submit(Task task);
  size_t queued() const;
  // Threads that wait for work.
  size_t idle() const;

 private:
  // A thread without work.
  struct Sleeper {
    std::condition_variable wake;
    bool is_called = false;

    // With the pool's lock, without which a sleeper does not go.
    void call() {
      is_called = true;
      wake.notify_one();
    }
  };

  void work();
  void perform(Task task);
  void sleep(std::unique_lock<std::mutex>& lock);
  void renew();

  const size_t max_threads_;
  const size_t max_queued_;
  mutable std::mutex mutex_;
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  std::vector<Sleeper*> sleepers_;  // Latest last.
  std::atomic<int> telling_{0};     // Threads that will take a task in a moment.
  bool stopping_ = false;
  const ForkHooks fork_hooks_;  // Last.
};

}  // namespace tierup::executor
