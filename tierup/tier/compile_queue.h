// CompileQueue: compile jobs on a few threads of low priority.
//
// Jobs run in order of arrival. After each job its thread begins only light ones for so long that
// compilation takes no more than its share of a core. A job may be told to stop; what one throws
// ends that job alone. Between jobs the queue's threads ask for no memory: none is ever missing
// there. A job may be put off to a time: timers are such jobs. A forked child has the jobs that
// waited, and threads for them when it first uses the queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tierup/base/fork_hooks.h"

namespace tierup::tier {

struct CompileJob {
  std::optional<std::chrono::steady_clock::time_point> not_before;
  const void* owner = nullptr;
  // What a call takes that may go on beside the job; 0: unknown.
  std::chrono::nanoseconds call_time{0};
  // Takes microseconds and enters no parallel region: runs in the queue's own thread, at the
  // priority of the process.
  bool is_light = false;
  // Runs the job; `cancelled` turns true if nobody wants it any more. Its owner hears of a failure
  // from the job itself; what it throws is counted and no more.
  std::function<void(const std::atomic<bool>& cancelled)> run;
};

// Programs may share one. Thread rule: any thread. Threads start with the first job; idle ones
// sleep.
class CompileQueue {
 public:
  using Clock = std::chrono::steady_clock;

  CompileQueue(uint32_t threads, double cpu_share);
  // Cancels what is waiting, tells running jobs to stop, and waits for those.
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  // Threads for jobs that waited when the process was forked; nothing else, and cheap.
  void resume_after_fork() {
    if (has_orphans_.load(std::memory_order_relaxed)) start_for_orphans();
  }
  // False if the job was dropped, because not one thread is to be had, or no memory.
  bool push(CompileJob job) noexcept;
  // Drops the waiting jobs of an owner and tells its running ones to stop.
  void cancel(const void* owner);
  // cancel(), and returns when none of the owner's jobs runs; drops what they push meanwhile. Not
  // to be called by a job.
  void end(const void* owner);
  // Returns when nothing runs and nothing waits but for its time, or when `longest` is over;
  // whether the former holds.
  bool wait_idle(std::optional<Clock::duration> longest = std::nullopt);
  size_t waiting() const;
  // Jobs begun so far that are not light.
  uint64_t compilations() const { return compilations_.load(); }
  // Jobs that threw.
  uint64_t failures() const { return failures_.load(); }

 private:
  struct Entry {
    explicit Entry(CompileJob given) : job(std::move(given)) {}
    CompileJob job;
    std::atomic<bool> cancelled{false};
  };
  // An entry moves from list to list without asking for memory.
  using Entries = std::list<Entry>;
  void work();
  // The processor time that the job took, in seconds.
  double run_timed(Entry& entry) noexcept;
  double run_apart(Entry& entry) noexcept;
  // Throws std::system_error or std::bad_alloc. The caller holds the mutex.
  void start_thread();
  void start_for_orphans();
  void renew();
  // cancel() under the lock; what the dropped jobs hold is to be freed without it.
  Entries withdraw(const void* owner);
  // The first job whose time has come; jobs_.end() if there is none. Before `rested` only light
  // ones.
  Entries::iterator next_job(Clock::time_point rested);
  // When the next waiting job's time comes; nothing if none waits.
  std::optional<Clock::time_point> next_time(Clock::time_point rested) const;
  bool is_idle() const;

  const uint32_t max_threads_;
  const double cpu_share_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  Entries jobs_;
  Entries running_;
  std::vector<const void*> ending_;  // Owners whose jobs are waited for.
  std::vector<std::thread> threads_;
  std::atomic<uint64_t> compilations_{0};
  std::atomic<uint64_t> failures_{0};
  size_t resting_ = 0;  // Threads that wait for a job.
  bool stopping_ = false;
  bool pausing_ = false;                  // A fork is coming: no job is begun.
  std::atomic<bool> has_orphans_{false};  // Jobs without a thread, in a forked child.
  ForkHooks fork_hooks_;                  // Last.
};

}  // namespace tierup::tier
