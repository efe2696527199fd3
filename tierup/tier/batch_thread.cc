#include "tierup/tier/batch_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

namespace tierup::tier {
namespace {

// How much nicer than its process; 19 is the end. Enough that a job whose cores callers keep busy
// gets a tenth of each: at 19 a job of 0.3 s took 17 s beside two callers. Beside calls that last
// many of the scheduler's ticks it gets a quarter. See decision 0024.
constexpr int kNicer = 10;
constexpr int kNicerThanLongCalls = 5;
constexpr int kTicksOfLongCall = 8;

int niceness_beside(std::chrono::nanoseconds call_time) {
  timespec tick{};  // The coarse clock goes by ticks.
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0) return kNicer;
  const auto length = std::chrono::seconds(tick.tv_sec) + std::chrono::nanoseconds(tick.tv_nsec);
  return call_time >= kTicksOfLongCall * length ? kNicerThanLongCalls : kNicer;
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

void run_as_batch(std::chrono::nanoseconds call_time, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread thread;
  try {
    thread = std::thread([&] {
      lower_priority(niceness_beside(call_time));
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
    });
  } catch (const std::exception&) {
    return work();
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tierup::tier
