#include "tierup/executor/run_permits.h"

#include "tierup/base/error.h"

namespace tierup::executor {
namespace {

// A token has no one to wake the waiting, so they look at it this often.
constexpr std::chrono::milliseconds kTokenInterval(5);

void poll(const RunLimits& limits) {
  require(limits.cancelled == nullptr || !limits.cancelled->load(std::memory_order_relaxed),
          ErrorCode::kCancelled, "the run was cancelled before it began");
  require(!limits.deadline || RunLimits::Clock::now() < *limits.deadline,
          ErrorCode::kDeadlineExceeded, "the time limit passed before the run began");
  require(limits.on_poll == nullptr || limits.on_poll(), ErrorCode::kCancelled,
          "the run was cancelled before it began");
}

}  // namespace

RunPermits::RunPermits(uint32_t limit, bool waits)
    : limit_(limit),
      waits_(waits),
      fork_hooks_({.pause = {},
                   .lock = [this] { mutex_.lock(); },
                   .resume = [this] { mutex_.unlock(); },
                   .renew = [this] { renew(); }}) {}

// Who waited for a permit is not in the child. Who had one is neither, or the child is no whole
// process (base/fork_hooks.h).
void RunPermits::renew() {
  renew_in_child(returned_);
  waiting_.store(0);
  mutex_.unlock();
}

bool RunPermits::try_acquire() {
  uint32_t taken = in_use_.load();
  do {
    if (limit_ != 0 && taken >= limit_) return false;
  } while (!in_use_.compare_exchange_weak(taken, taken + 1));
  uint32_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < taken + 1 &&
         !peak_.compare_exchange_weak(peak, taken + 1, std::memory_order_relaxed)) {
  }
  return true;
}

void RunPermits::acquire(const RunLimits& limits) {
  poll(limits);
  if (try_acquire()) return;
  if (!waits_) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    fail(ErrorCode::kExhausted, "all {} frames of the executor are in use", limit_);
  }
  wait(limits);
}

// Who waits announces itself before it looks again, and who returns a permit looks for the
// waiting afterwards: one of the two sees the other.
void RunPermits::wait(const RunLimits& limits) {
  waited_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.fetch_add(1);
  try {
    while (!try_acquire()) {
      poll(limits);
      if (limits.cancelled != nullptr || limits.on_poll != nullptr) {
        returned_.wait_for(lock, kTokenInterval);
      } else if (limits.deadline) {
        returned_.wait_until(lock, *limits.deadline);
      } else {
        returned_.wait(lock);
      }
    }
  } catch (...) {
    waiting_.fetch_sub(1);
    // A permit that came while this one gave up is the next one's.
    returned_.notify_one();
    throw;
  }
  waiting_.fetch_sub(1);
}

void RunPermits::release() {
  in_use_.fetch_sub(1);
  if (waiting_.load() == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  returned_.notify_one();
}

}  // namespace tierup::executor
