#include "tierup/executor/work_pool.h"

#include <system_error>
#include <utility>

#include "tierup/base/error.h"

namespace tierup::executor {

WorkPool::WorkPool(size_t max_threads, size_t max_queued)
    : max_threads_(max_threads),
      max_queued_(max_queued),
      fork_hooks_({.pause = {},
                   .lock = [this] { mutex_.lock(); },
                   .resume = [this] { mutex_.unlock(); },
                   .renew = [this] { renew(); }}) {}

void WorkPool::renew() {
  renew_in_child(wake_);
  forget_threads(threads_);
  idle_ = 0;
  const std::deque<std::function<void()>> dropped = std::exchange(tasks_, {});
  mutex_.unlock();
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::submit(std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (tasks_.size() >= max_queued_) return false;
    if (idle_ <= tasks_.size() && threads_.size() < max_threads_) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error& error) {
        require(!threads_.empty(), ErrorCode::kOutOfMemory, "no thread could be started: {}",
                error.what());
      }
    }
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

size_t WorkPool::queued() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.size();
}

void WorkPool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;  // Stopping, and nothing is left.
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace tierup::executor
