#include "tierup/runtime/fork_pool.h"

#include <system_error>

#include "tierup/base/error.h"
#include "tierup/base/wait_policy.h"

namespace tierup::runtime {

ForkPool::ForkPool(size_t thread_count, std::function<void(ForkTask&)> run)
    : thread_count_(thread_count),
      run_(std::move(run)),
      fork_hooks_({.pause = {},
                   .lock = [this] { mutex_.lock(); },
                   .resume = [this] { mutex_.unlock(); },
                   .renew = [this] { renew(); }}) {}

void ForkPool::renew() {
  renew_in_child(changed_);
  forget_threads(threads_);
  tasks_.store(unclaimed_.size(), std::memory_order_relaxed);
  mutex_.unlock();
}

ForkPool::~ForkPool() {
  std::unordered_map<const FutureValue*, Ref<ForkTask>> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    waits_.store(1, std::memory_order_relaxed);
    dropped.swap(unclaimed_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  const Error closed(ErrorCode::kCancelled, "the module was closed before its fork ran");
  for (auto& [future, task] : dropped) task->result->fail_with(std::make_exception_ptr(closed));
}

void ForkPool::submit(Ref<ForkTask> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.fetch_add(1, std::memory_order_relaxed);
    const FutureValue* key = task->result.get();
    order_.push_back(key);
    waits_.store(order_.size(), std::memory_order_relaxed);
    unclaimed_.emplace(key, std::move(task));
    if (threads_.size() < thread_count_) start_thread();
  }
  changed_.notify_one();
}

// Where no thread is to be had, who waits for a task runs it.
void ForkPool::start_thread() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    return;
  }
}

Ref<ForkTask> ForkPool::claim(const FutureValue* future) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = unclaimed_.find(future);
  if (found == unclaimed_.end()) return nullptr;
  Ref<ForkTask> task = std::move(found->second);
  unclaimed_.erase(found);
  tasks_.fetch_sub(1, std::memory_order_relaxed);
  return task;
}

void ForkPool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    // The next call's task often comes soon.
    lock.unlock();
    wait_awake([this] { return waits_.load(std::memory_order_relaxed) > 0; });
    lock.lock();
    changed_.wait(lock, [&] { return stopping_ || !order_.empty(); });
    if (stopping_) return;
    const auto found = unclaimed_.find(order_.front());
    order_.pop_front();
    waits_.store(order_.size(), std::memory_order_relaxed);
    if (found == unclaimed_.end()) continue;
    Ref<ForkTask> task = std::move(found->second);
    unclaimed_.erase(found);
    lock.unlock();
    {
      const ForkUnsafeScope scope;
      run_(*task);
      task = nullptr;
    }
    tasks_.fetch_sub(1, std::memory_order_relaxed);
    lock.lock();
  }
}

}  // namespace tierup::runtime
