// WorkPool: a bounded queue of tasks on a few threads, for runs whose callers do not wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tierup/base/fork_hooks.h"

namespace tierup::executor {

// Thread rule: any thread. Threads start when there is work for them; idle ones sleep. After a
// fork, tasks that waited are the parent's alone: the child drops them, and starts threads for its
// own.
class WorkPool {
 public:
  WorkPool(size_t max_threads, size_t max_queued);
  // Runs what is queued, then ends.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // False if the queue is full. `task` must not throw.
  bool submit(std::function<void()> task);
  size_t queued() const;

 private:
  void work();
  void renew();

  const size_t max_threads_;
  const size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
  const ForkHooks fork_hooks_;  // Last.
};

}  // namespace tierup::executor
