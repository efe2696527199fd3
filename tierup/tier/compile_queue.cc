#include "tierup/tier/compile_queue.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "tierup/base/wait_policy.h"

namespace tierup::tier {
namespace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// How much nicer than its process; 19 is the end. Enough that a job whose cores callers keep busy
// gets a tenth of each: at 19 a job of 0.3 s took 17 s beside two callers. What it takes of a core
// it takes by ticks of the scheduler: of a call of two ticks one, if it gets a third, which the
// other threads of the call may wait for, too; and of a call of many, four ninths. No call takes
// more than twice its time. See decision 0024.
constexpr int kNicer = 10;
constexpr int kNicerThanTicks = 3;
constexpr int kNicerThanManyTicks = 1;
constexpr int kTicks = 2;
constexpr int kManyTicks = 8;

int niceness_beside(std::chrono::nanoseconds call_time) {
  timespec tick{};  // The coarse clock goes by ticks.
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0) return kNicer;
  const auto length = std::chrono::seconds(tick.tv_sec) + std::chrono::nanoseconds(tick.tv_nsec);
  if (call_time >= kManyTicks * length) return kNicerThanManyTicks;
  return call_time >= kTicks * length ? kNicerThanTicks : kNicer;
}

// Linux applies both to the one thread. As a batch it takes no core from a caller when it wakes:
// one of low priority alone did, for a tick of the scheduler.
void lower_priority(int nicer) {
  const sched_param none{};
  if (sched_getscheduler(0) != SCHED_IDLE) sched_setscheduler(0, SCHED_BATCH, &none);
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, self, std::min(getpriority(PRIO_PROCESS, self) + nicer, 19));
}

}  // namespace

CompileQueue::CompileQueue(uint32_t threads, double cpu_share)
    : max_threads_(std::max<uint32_t>(threads, 1)),
      cpu_share_(std::clamp(cpu_share, 0.01, 1.0)),
      fork_hooks_({.pause =
                       [this] {
                         const std::lock_guard<std::mutex> lock(mutex_);
                         pausing_ = true;
                       },
                   .lock = [this] { mutex_.lock(); },
                   .resume =
                       [this] {
                         pausing_ = false;
                         mutex_.unlock();
                         wake_.notify_all();
                       },
                   .renew = [this] { renew(); }}) {}

// What ran when the process forked goes on in the parent alone.
void CompileQueue::renew() {
  renew_in_child(wake_);
  renew_in_child(idle_);
  forget_threads(threads_);
  renew_in_child(running_);  // What it holds, the parent's threads may have been changing.
  ending_.clear();
  resting_ = 0;
  pausing_ = false;
  has_orphans_.store(!jobs_.empty(), std::memory_order_relaxed);
  mutex_.unlock();
}

void CompileQueue::start_thread() {
  threads_.emplace_back([this] { work(); });
  has_orphans_.store(false, std::memory_order_relaxed);
}

void CompileQueue::start_for_orphans() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_orphans_.load() || stopping_) return;
  try {
    start_thread();
  } catch (const std::exception&) {
    return;  // The next call tries again.
  }
}

CompileQueue::~CompileQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    jobs_.clear();
    for (Entry& running : running_) running.cancelled.store(true);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

double CompileQueue::run_timed(Entry& entry) noexcept {
  const ForkUnsafeScope scope;
  const double begin = thread_seconds();
  try {
    const BackgroundScope background;
    entry.job.run(entry.cancelled);
  } catch (...) {
    failures_.fetch_add(1);
  }
  return thread_seconds() - begin;
}

// The same in a thread of its own. The OpenMP team that a job may start ends with its thread: while
// a team more than there are cores for exists, libgomp lets the callers' threads sleep at every
// barrier instead of waiting a little. And the queue's own thread keeps its priority: one of low
// priority would be stopped while it holds the lock that callers need. Where no thread is to be
// had, the job runs in this one.
double CompileQueue::run_apart(Entry& entry) noexcept {
  double busy = 0;
  try {
    std::thread thread([&] {
      lower_priority(niceness_beside(entry.job.call_time));
      busy = run_timed(entry);
    });
    thread.join();
  } catch (const std::exception&) {
    busy = run_timed(entry);
  }
  return busy;
}

bool CompileQueue::push(CompileJob job) noexcept {
  Entries entry;
  try {
    entry.emplace_back(std::move(job));
  } catch (const std::bad_alloc&) {
    return false;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const void* owner = entry.front().job.owner;
    if (stopping_ || std::ranges::count(ending_, owner) > 0) return true;
    if (resting_ == 0 && threads_.size() < max_threads_) {
      try {
        start_thread();
      } catch (const std::exception&) {
        if (threads_.empty()) return false;
      }
    }
    jobs_.splice(jobs_.end(), entry);
  }
  wake_.notify_all();  // One that rests does not take it if it is heavy.
  return true;
}

CompileQueue::Entries CompileQueue::withdraw(const void* owner) {
  Entries dropped;
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    const auto next = std::next(entry);
    if (entry->job.owner == owner) dropped.splice(dropped.end(), jobs_, entry);
    entry = next;
  }
  for (Entry& running : running_) {
    if (running.job.owner == owner) running.cancelled.store(true);
  }
  idle_.notify_all();
  return dropped;
}

void CompileQueue::cancel(const void* owner) {
  Entries dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped = withdraw(owner);
}

void CompileQueue::end(const void* owner) {
  Entries dropped;
  std::unique_lock<std::mutex> lock(mutex_);
  ending_.push_back(owner);
  dropped = withdraw(owner);
  idle_.wait(lock, [&] {
    return std::ranges::none_of(running_, [&](const Entry& r) { return r.job.owner == owner; });
  });
  ending_.erase(std::ranges::find(ending_, owner));
}

bool CompileQueue::wait_idle(std::optional<Clock::duration> longest) {
  resume_after_fork();
  std::unique_lock<std::mutex> lock(mutex_);
  const auto idle = [&] { return is_idle(); };
  if (longest) return idle_.wait_for(lock, *longest, idle);
  idle_.wait(lock, idle);
  return true;
}

bool CompileQueue::is_idle() const {
  return running_.empty() && std::all_of(jobs_.begin(), jobs_.end(), [](const Entry& entry) {
           return entry.job.not_before.has_value();
         });
}

CompileQueue::Entries::iterator CompileQueue::next_job(Clock::time_point rested) {
  if (pausing_) return jobs_.end();
  const Clock::time_point now = Clock::now();
  return std::find_if(jobs_.begin(), jobs_.end(), [&](const Entry& entry) {
    const CompileJob& job = entry.job;
    return (!job.not_before || *job.not_before <= now) && (job.is_light || rested <= now);
  });
}

std::optional<CompileQueue::Clock::time_point> CompileQueue::next_time(
    Clock::time_point rested) const {
  std::optional<Clock::time_point> earliest;
  for (const Entry& entry : jobs_) {
    const CompileJob& job = entry.job;
    Clock::time_point time = job.not_before.value_or(Clock::time_point::min());
    if (!job.is_light) time = std::max(time, rested);
    if (!earliest || time < *earliest) earliest = time;
  }
  return earliest;
}

size_t CompileQueue::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return jobs_.size();
}

void CompileQueue::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  Clock::time_point rested = Clock::time_point::min();
  while (true) {
    ++resting_;
    auto first = next_job(rested);
    while (!stopping_ && first == jobs_.end()) {
      const std::optional<Clock::time_point> next = next_time(rested);
      if (!next || pausing_) {
        wake_.wait(lock);
      } else {  // Only jobs put off: until the earliest, or until another comes.
        wake_.wait_until(lock, *next);
      }
      first = next_job(rested);
    }
    --resting_;
    if (stopping_) return;
    running_.splice(running_.end(), jobs_, first);
    Entry& entry = *first;
    if (!entry.job.is_light) compilations_.fetch_add(1);
    lock.unlock();
    const bool is_light = entry.job.is_light;
    const double busy = is_light ? run_timed(entry) : run_apart(entry);
    entry.job.run = nullptr;  // What it holds is freed without the lock.
    lock.lock();
    running_.erase(first);
    idle_.notify_all();
    if (is_light || is_idle()) continue;
    const std::chrono::duration<double> pause(busy * (1 - cpu_share_) / cpu_share_);
    rested = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause);
  }
}

}  // namespace tierup::tier
