// RunPermits: how many runs may be under way at once; the rest wait or are refused.
//
// Taking and returning a permit is one atomic operation while there are enough. Exact: a permit is
// returned if and only if it was taken.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tierup/base/fork_hooks.h"
#include "tierup/executor/servable.h"

namespace tierup::executor {

// Thread rule: any thread.
class RunPermits {
 public:
  // `limit` 0: as many as come. `waits` false: one too many is refused at once.
  RunPermits(uint32_t limit, bool waits);
  RunPermits(const RunPermits&) = delete;
  RunPermits& operator=(const RunPermits&) = delete;

  // One permit for its lifetime. Throws kExhausted if refused, kCancelled or kDeadlineExceeded if
  // the limits of the run end its waiting.
  class Permit {
   public:
    Permit(RunPermits& permits, const RunLimits& limits) : permits_(permits) {
      permits.acquire(limits);
    }
    ~Permit() { permits_.release(); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

   private:
    RunPermits& permits_;
  };

  uint32_t limit() const { return limit_; }
  uint32_t in_use() const { return in_use_.load(); }
  uint32_t peak() const { return peak_.load(std::memory_order_relaxed); }
  uint32_t waiting() const { return waiting_.load(); }
  uint64_t waited() const { return waited_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  void acquire(const RunLimits& limits);
  void release();
  bool try_acquire();
  void wait(const RunLimits& limits);
  void renew();

  const uint32_t limit_;
  const bool waits_;
  std::atomic<uint32_t> in_use_{0};
  std::atomic<uint32_t> waiting_{0};
  std::atomic<uint32_t> peak_{0};
  std::atomic<uint64_t> waited_{0};
  std::atomic<uint64_t> refused_{0};
  std::mutex mutex_;
  std::condition_variable returned_;
  const ForkHooks fork_hooks_;  // Last.
};

}  // namespace tierup::executor
