#include "tierup/executor/work_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "tierup/base/error.h"
#include "tierup/base/workers.h"

namespace tierup::executor {
namespace {

// A call after such a pause finds cores asleep and caches cold: starting threads adds little. Until
// then the idle team lets those of other callers sleep at every barrier.
constexpr std::chrono::milliseconds kTeamRest{20};
// To wake a thread that waits for a result, which asks for the next run, takes some microseconds;
// whoever tells for longer than these naps is not waited for.
constexpr std::chrono::microseconds kNap{20};
constexpr int kMostNaps = 4;

}  // namespace

WorkPool::WorkPool(size_t max_threads, size_t max_queued)
    : max_threads_(max_threads),
      max_queued_(max_queued),
      fork_hooks_({.pause = {},
                   .lock = [this] { mutex_.lock(); },
                   .resume = [this] { mutex_.unlock(); },
                   .renew = [this] { renew(); }}) {}

void WorkPool::renew() {
  forget_threads(threads_);
  sleepers_.clear();
  telling_.store(0);
  const std::deque<Task> dropped = std::exchange(tasks_, {});
  mutex_.unlock();
}

WorkPool::~WorkPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    for (Sleeper* sleeper : sleepers_) sleeper->call();
    sleepers_.clear();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::submit(Task task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tasks_.size() >= max_queued_) return false;
  sleepers_.reserve(max_threads_);
  if (sleepers_.empty() && threads_.size() < max_threads_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      require(!threads_.empty(), ErrorCode::kOutOfMemory, "no thread could be started: {}",
              error.what());
    }
  }
  tasks_.push_back(std::move(task));
  if (!sleepers_.empty()) {
    sleepers_.back()->call();
    sleepers_.pop_back();
  }
  return true;
}

size_t WorkPool::queued() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.size();
}

size_t WorkPool::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sleepers_.size();
}

void WorkPool::sleep(std::unique_lock<std::mutex>& lock) {
  Sleeper sleeper;
  sleepers_.push_back(&sleeper);
  const auto is_called = [&] { return sleeper.is_called; };
  if (!sleeper.wake.wait_for(lock, kTeamRest, is_called)) {
    lock.unlock();
    end_team_beside_others();
    lock.lock();
    sleeper.wake.wait(lock, is_called);
  }
  for (int naps = 0; naps < kMostNaps && telling_.load(std::memory_order_relaxed) > 0; ++naps) {
    lock.unlock();
    std::this_thread::sleep_for(kNap);
    lock.lock();
  }
}

void WorkPool::perform(Task task) {
  task.run();
  telling_.fetch_add(1, std::memory_order_relaxed);
  task.tell();
}

void WorkPool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    while (tasks_.empty()) {
      if (stopping_) return;
      sleep(lock);
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    perform(std::move(task));
    lock.lock();
    telling_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tierup::executor
