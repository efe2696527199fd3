#include "tierup/base/side_thread.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "tierup/base/fork_hooks.h"

namespace tierup {
namespace {

// The cores that the caller's thread may run on, but for that on which it runs now.
bool find_other_cores(cpu_set_t& cores) {
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return false;
  const int own = sched_getcpu();
  if (own >= 0) CPU_CLR(static_cast<size_t>(own), &cores);
  return CPU_COUNT(&cores) > 0;
}

}  // namespace

SideThread::~SideThread() {
  if (!thread_.joinable()) return;
  if (process_ == getpid()) {
    stop();
    thread_.join();
  } else {
    renew_in_child(thread_);
  }
}

void SideThread::start() {
  cpu_set_t cores;
  if (!find_other_cores(cores)) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return;
  }
  process_ = getpid();
  // Wherever it is queued, this moves it; a refusal costs some milliseconds.
  pthread_setaffinity_np(thread_.native_handle(), sizeof(cores), &cores);
}

void SideThread::add(Work work) {
  if (!is_running()) return;
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void SideThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishes_ = true;
  }
  changed_.notify_one();
}

void SideThread::stop() {
  stop_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    work_.clear();
  }
  changed_.notify_one();
}

void SideThread::run() {
  const std::stop_token stop = stop_.get_token();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop.stop_requested() || finishes_ || !work_.empty(); });
    if (stop.stop_requested() || work_.empty()) return;
    {
      const Work work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work(stop);
    }
    lock.lock();
  }
}

}  // namespace tierup
