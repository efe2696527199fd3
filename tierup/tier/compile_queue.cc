#include "tierup/tier/compile_queue.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace tierup::tier {
namespace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// How much nicer than its process; 19 is the end. Enough that a job whose cores callers keep busy
// gets a tenth of each: at 19 a job of 0.3 s took 17 s beside two callers. See decision 0024.
constexpr int kNicer = 10;

// Linux applies both to the one thread. As a batch it takes no core from a caller when it wakes:
// one of low priority alone did, for a tick of the scheduler.
void lower_priority() {
  const sched_param none{};
  if (sched_getscheduler(0) != SCHED_IDLE) sched_setscheduler(0, SCHED_BATCH, &none);
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, self, std::min(getpriority(PRIO_PROCESS, self) + kNicer, 19));
}

// Runs a job and returns the processor time that it took, in seconds.
double run_timed(const CompileJob& job, const std::atomic<bool>& cancelled) {
  const ForkUnsafeScope scope;
  const double begin = thread_seconds();
  job.run(cancelled);
  return thread_seconds() - begin;
}

// The same in a thread of its own. The OpenMP team that a job may start ends with its thread: while
// a team more than there are cores for exists, libgomp lets the callers' threads sleep at every
// barrier instead of waiting a little. And the queue's own thread keeps its priority: one of low
// priority would be stopped while it holds the lock that callers need. Where no thread is to be
// had, the job runs in this one.
double run_apart(const CompileJob& job, const std::atomic<bool>& cancelled) {
  double busy = 0;
  try {
    std::thread thread([&] {
      lower_priority();
      busy = run_timed(job, cancelled);
    });
    thread.join();
  } catch (const std::system_error&) {
    busy = run_timed(job, cancelled);
  }
  return busy;
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
  running_.clear();
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
  } catch (const std::system_error&) {
    return;  // The next call tries again.
  }
}

CompileQueue::~CompileQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    jobs_.clear();
    for (const Running& running : running_) running.cancelled->store(true);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool CompileQueue::push(CompileJob job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_ || std::ranges::count(ending_, job.owner) > 0) return true;
    if (resting_ == 0 && threads_.size() < max_threads_) {
      try {
        start_thread();
      } catch (const std::system_error&) {
        if (threads_.empty()) return false;
      }
    }
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

std::vector<CompileJob> CompileQueue::withdraw(const void* owner) {
  const auto kept = std::stable_partition(
      jobs_.begin(), jobs_.end(), [&](const CompileJob& job) { return job.owner != owner; });
  std::vector<CompileJob> dropped(std::make_move_iterator(kept),
                                  std::make_move_iterator(jobs_.end()));
  jobs_.erase(kept, jobs_.end());
  for (const Running& running : running_) {
    if (running.owner == owner) running.cancelled->store(true);
  }
  idle_.notify_all();
  return dropped;
}

void CompileQueue::cancel(const void* owner) {
  std::vector<CompileJob> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  dropped = withdraw(owner);
}

void CompileQueue::end(const void* owner) {
  std::vector<CompileJob> dropped;
  std::unique_lock<std::mutex> lock(mutex_);
  ending_.push_back(owner);
  dropped = withdraw(owner);
  idle_.wait(lock, [&] {
    return std::ranges::none_of(running_, [&](const Running& r) { return r.owner == owner; });
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
  return running_.empty() && std::all_of(jobs_.begin(), jobs_.end(), [](const CompileJob& job) {
           return job.not_before.has_value();
         });
}

std::vector<CompileJob>::iterator CompileQueue::next_job() {
  if (pausing_) return jobs_.end();
  const Clock::time_point now = Clock::now();
  auto best = jobs_.end();
  for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
    if (job->not_before && *job->not_before > now) continue;
    if (best == jobs_.end() || job->priority > best->priority) best = job;
  }
  return best;
}

size_t CompileQueue::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return jobs_.size();
}

void CompileQueue::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++resting_;
    auto first = next_job();
    while (!stopping_ && first == jobs_.end()) {
      if (jobs_.empty() || pausing_) {
        wake_.wait(lock);
      } else {  // Only jobs put off: until the earliest, or until another comes.
        const auto earliest = std::min_element(
            jobs_.begin(), jobs_.end(),
            [](const auto& a, const auto& b) { return *a.not_before < *b.not_before; });
        wake_.wait_until(lock, Clock::time_point(*earliest->not_before));
      }
      first = next_job();
    }
    --resting_;
    if (stopping_) return;
    CompileJob job = std::move(*first);
    jobs_.erase(first);
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    running_.push_back({job.owner, cancelled});
    if (!job.is_light) compilations_.fetch_add(1);
    lock.unlock();
    const double busy = job.is_light ? run_timed(job, *cancelled) : run_apart(job, *cancelled);
    job.run = nullptr;  // What it holds is freed without the lock.
    lock.lock();
    std::erase_if(running_, [&](const Running& r) { return r.cancelled == cancelled; });
    idle_.notify_all();
    if (is_idle()) continue;
    const double pause = busy * (1 - cpu_share_) / cpu_share_;
    wake_.wait_for(lock, std::chrono::duration<double>(pause), [&] { return stopping_; });
  }
}

}  // namespace tierup::tier
