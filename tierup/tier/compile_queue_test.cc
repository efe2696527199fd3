#include "tierup/tier/compile_queue.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "tierup/base/emulator_fixture.h"
#include "tierup/base/sanitizers.h"

namespace tierup::tier {
namespace {

using std::chrono::milliseconds;

CompileJob job(std::function<void(const std::atomic<bool>&)> run, const void* owner = nullptr) {
  CompileJob made;
  made.run = std::move(run);
  made.owner = owner;
  return made;
}

// Holds the queue's one thread until it is opened.
class Gate {
 public:
  CompileJob as_job() {
    return job([this](const std::atomic<bool>&) {
      while (!open_.load()) std::this_thread::sleep_for(milliseconds(1));
    });
  }
  void open() { open_.store(true); }

 private:
  std::atomic<bool> open_{false};
};

TEST(CompileQueue, WhatAJobThrowsEndsThatJobAloneAndIsCounted) {
  CompileQueue queue(1, 1.0);
  int ran = 0;
  for (const bool is_light : {false, true}) {
    CompileJob strange = job([](const std::atomic<bool>&) { throw 42; });
    CompileJob without_memory = job([](const std::atomic<bool>&) { throw std::bad_alloc(); });
    CompileJob fine = job([&](const std::atomic<bool>&) { ++ran; });
    for (CompileJob* each : {&strange, &without_memory, &fine}) {
      each->is_light = is_light;
      EXPECT_TRUE(queue.push(std::move(*each)));
    }
    queue.wait_idle();
  }
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(queue.failures(), 4U);
}

TEST(CompileQueue, RunsInOrderOfArrival) {
  CompileQueue queue(1, 1.0);
  Gate gate;
  queue.push(gate.as_job());
  while (queue.waiting() > 0) std::this_thread::sleep_for(milliseconds(1));
  std::string order;
  for (const char name : {'a', 'b', 'c'})
    queue.push(job([&order, name](const std::atomic<bool>&) { order += name; }));
  gate.open();
  queue.wait_idle();
  EXPECT_EQ(order, "abc");
}

TEST(CompileQueue, CancelDropsWhatWaitsAndTellsWhatRuns) {
  CompileQueue queue(1, 1.0);
  const int owner = 0;
  std::atomic<bool> begun{false};
  std::atomic<bool> was_told{false};
  queue.push(job(
      [&](const std::atomic<bool>& cancelled) {
        begun.store(true);
        while (!cancelled.load()) std::this_thread::sleep_for(milliseconds(1));
        was_told.store(true);
      },
      &owner));
  std::atomic<int> ran{0};
  queue.push(job([&](const std::atomic<bool>&) { ++ran; }, &owner));
  queue.push(job([&](const std::atomic<bool>&) { ++ran; }));
  while (!begun.load()) std::this_thread::sleep_for(milliseconds(1));
  queue.cancel(&owner);
  queue.wait_idle();
  EXPECT_TRUE(was_told.load());
  EXPECT_EQ(ran.load(), 1);
}

TEST(CompileQueue, AJobPutOffRunsAtItsTimeAndDelaysNoOther) {
  CompileQueue queue(1, 1.0);
  std::atomic<bool> late{false};
  CompileJob timer = job([&](const std::atomic<bool>&) { late.store(true); });
  const auto due = CompileQueue::Clock::now() + milliseconds(60);
  timer.not_before = due;
  queue.push(std::move(timer));
  std::atomic<bool> soon{false};
  queue.push(job([&](const std::atomic<bool>&) { soon.store(true); }));
  queue.wait_idle();
  EXPECT_TRUE(soon.load());
  while (!late.load()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_GE(CompileQueue::Clock::now(), due);
}

TEST(CompileQueue, EndsAtOnceWithJobsWaitingAndPutOff) {
  std::atomic<int> ran{0};
  {
    CompileQueue queue(1, 1.0);
    CompileJob timer = job([&](const std::atomic<bool>&) { ++ran; });
    timer.not_before = CompileQueue::Clock::now() + std::chrono::hours(1);
    queue.push(std::move(timer));
  }
  EXPECT_EQ(ran.load(), 0);
}

TEST(CompileQueue, EndWaitsForTheOwnersJobsAndDropsWhatTheyPush) {
  CompileQueue queue(2, 1.0);
  const int owner = 0;
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  std::atomic<bool> pushed_ran{false};
  queue.push(job(
      [&](const std::atomic<bool>& cancelled) {
        begun.store(true);
        while (!cancelled.load()) std::this_thread::sleep_for(milliseconds(1));
        queue.push(job([&](const std::atomic<bool>&) { pushed_ran.store(true); }, &owner));
        ended.store(true);
      },
      &owner));
  while (!begun.load()) std::this_thread::sleep_for(milliseconds(1));
  queue.end(&owner);
  EXPECT_TRUE(ended.load());
  EXPECT_EQ(queue.waiting(), 0U);
  queue.wait_idle();
  EXPECT_FALSE(pushed_ran.load());
  queue.push(job([&](const std::atomic<bool>&) { pushed_ran.store(true); }, &owner));
  queue.wait_idle();
  EXPECT_TRUE(pushed_ran.load()) << "what comes after the end is another owner's";
}

// Light jobs keep the priority of the process.
TEST(CompileQueue, JobsTakeNoCoreFromCallersWhenTheyWake) {
  CompileQueue queue(1, 1.0);
  for (const bool is_light : {false, true}) {
    int policy = -1;
    int nice = -1;
    CompileJob one = job([&](const std::atomic<bool>&) {
      policy = sched_getscheduler(0);
      nice = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
    });
    one.is_light = is_light;
    queue.push(std::move(one));
    queue.wait_idle();
    const int own = sched_getscheduler(0);
    EXPECT_EQ(policy, is_light || own == SCHED_IDLE ? own : SCHED_BATCH);
    const int own_nice = getpriority(PRIO_PROCESS, 0);
    EXPECT_EQ(nice, is_light ? own_nice : std::min(own_nice + 10, 19));
  }
}

// Calls of many ticks are not held up by a tick; a tenth of their cores would hold up their job.
TEST(CompileQueue, JobsBesideLongCallsGetALargerShare) {
  CompileQueue queue(1, 1.0);
  const auto niceness = [&](milliseconds call_time) {
    int nice = -1;
    CompileJob one = job([&](const std::atomic<bool>&) {
      nice = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
    });
    one.call_time = call_time;
    queue.push(std::move(one));
    queue.wait_idle();
    return nice;
  };
  const int own_nice = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(niceness(milliseconds(1)), std::min(own_nice + 10, 19));
  EXPECT_EQ(niceness(milliseconds(25)), std::min(own_nice + 3, 19));
  EXPECT_EQ(niceness(milliseconds(1000)), std::min(own_nice + 1, 19));
}

TEST(CompileQueue, LightJobsDoNotWaitForTheRestBetweenOthers) {
  CompileQueue queue(1, 0.01);
  const auto spin = [](const std::atomic<bool>&) {
    const auto end = CompileQueue::Clock::now() + milliseconds(30);
    while (CompileQueue::Clock::now() < end) {
    }
  };
  Gate gate;
  queue.push(gate.as_job());
  queue.push(job(spin));  // At its end another waits, so that the thread rests for seconds.
  queue.push(job(spin));
  std::atomic<bool> ran{false};
  CompileJob light = job([&](const std::atomic<bool>&) { ran.store(true); });
  light.is_light = true;
  queue.push(std::move(light));
  gate.open();
  const auto begin = CompileQueue::Clock::now();
  while (!ran.load() && CompileQueue::Clock::now() < begin + std::chrono::seconds(20))
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(ran.load());
  EXPECT_GE(queue.waiting(), 1U) << "a heavy job waits on";
}

TEST(CompileQueue, LightJobsShareTheQueuesThread) {
  CompileQueue queue(1, 1.0);
  std::vector<std::thread::id> threads;
  for (const bool is_light : {true, true, false, true}) {
    CompileJob one =
        job([&](const std::atomic<bool>&) { threads.push_back(std::this_thread::get_id()); });
    one.is_light = is_light;
    queue.push(std::move(one));
    queue.wait_idle();
  }
  ASSERT_EQ(threads.size(), 4U);
  EXPECT_EQ(threads[0], threads[1]);
  EXPECT_NE(threads[1], threads[2]);
  EXPECT_EQ(threads[0], threads[3]);
}

double process_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A thread that polls or spins uses time in every window; a busy machine, whose stolen time is
// booked on whoever was there, in some.
TEST(CompileQueue, IdleThreadsUseNoTime) {
  CompileQueue queue(2, 1.0);
  queue.push(job([](const std::atomic<bool>&) {}));
  queue.wait_idle();
  double least = 1;
  for (int window = 0; window < 20 && least >= 0.02; ++window) {
    const double before = process_seconds();
    std::this_thread::sleep_for(milliseconds(100));
    least = std::min(least, process_seconds() - before);
  }
  EXPECT_LT(least, 0.02);
}

#ifndef TIERUP_THREAD_SANITIZER  // Which allows no threads after a fork.
TEST(CompileQueue, AForkedChildDoesWhatWaitedAndWhatItAsksFor) {
  if (is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  CompileQueue queue(1, 1.0);
  std::atomic<int> done{0};
  queue.push(job([&](const std::atomic<bool>&) { ++done; }));
  queue.wait_idle();
  CompileJob later = job([&](const std::atomic<bool>&) { done += 10; });
  later.not_before = CompileQueue::Clock::now() + milliseconds(100);
  queue.push(std::move(later));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    queue.resume_after_fork();
    while (done.load() < 11) std::this_thread::sleep_for(milliseconds(1));
    queue.push(job([&](const std::atomic<bool>&) { done += 100; }));
    queue.wait_idle();
    _exit(done.load() == 111 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  while (done.load() < 11) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(done.load(), 11);
}
#endif

}  // namespace
}  // namespace tierup::tier
