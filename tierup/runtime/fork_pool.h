// ForkPool: threads that run the bodies of prim::fork.
//
// A task is run by whoever claims it first: a thread of the pool, or the one that waits for its
// result. A waiter therefore never depends on a free thread, and blocks only on a task that is
// really running, so that no cycle can arise that the program itself does not have.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tierup/base/fork_hooks.h"
#include "tierup/ops/table/run_context.h"
#include "tierup/runtime/frame_pool.h"
#include "tierup/runtime/run_state.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

struct ForkTask final : public RefCounted {
  std::shared_ptr<const Plan> body;  // The task may outlast the plan that forked it.
  std::vector<IValue> captures;
  Ref<FutureValue> result;
  Ref<const RunState> state;
  ops::RunContext context;  // The forking run's, copied.
};

// Thread rule: any thread. The threads start with the first task.
class ForkPool {
 public:
  // `run` runs a task to its end and completes its future.
  ForkPool(size_t thread_count, std::function<void(ForkTask&)> run);
  // Drops what nobody has claimed and waits for what is running.
  ~ForkPool();
  ForkPool(const ForkPool&) = delete;
  ForkPool& operator=(const ForkPool&) = delete;

  void submit(Ref<ForkTask> task);
  // Whether a thread would begin a task at once. May be out of date when it returns.
  bool has_free_thread() const { return tasks_.load(std::memory_order_relaxed) < thread_count_; }
  // The task behind a future, if nobody has claimed it yet; null otherwise.
  Ref<ForkTask> claim(const FutureValue* future);

 private:
  void work();
  void start_thread();
  void renew();

  const size_t thread_count_;
  const std::function<void(ForkTask&)> run_;
  std::atomic<size_t> tasks_{0};  // Unclaimed, or being run by the pool's threads.
  std::atomic<size_t> waits_{0};  // Of order_, or that the pool ends: what a thread looks for.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<const FutureValue*> order_;  // May name tasks that are claimed by now.
  std::unordered_map<const FutureValue*, Ref<ForkTask>> unclaimed_;
  std::vector<std::thread> threads_;
  const ForkHooks fork_hooks_;  // Last. In a forked child, who waits for a task runs it.
};

}  // namespace tierup::runtime
