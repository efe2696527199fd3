#include "tierup/base/fork_hooks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tierup/base/emulator_fixture.h"
#include "tierup/base/error.h"
#include "tierup/base/sanitizers.h"

namespace tierup {
namespace {

#ifndef TIERUP_THREAD_SANITIZER  // Which allows no threads after a fork.

// Whether `body` held in a child.
template <typename Body>
bool holds_in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_whole() {
  try {
    require_whole_process();
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    return false;
  }
}

TEST(ForkHooks, StepsComeInOrderAndLocksAreWholeInBoth) {
  std::mutex mutex;
  std::string steps;
  const ForkHooks hooks({.pause = [&] { steps += "pause "; },
                         .lock =
                             [&] {
                               mutex.lock();
                               steps += "lock ";
                             },
                         .resume =
                             [&] {
                               steps += "resume";
                               mutex.unlock();
                             },
                         .renew =
                             [&] {
                               steps += "renew";
                               mutex.unlock();
                             }});
  EXPECT_TRUE(holds_in_child([&] { return mutex.try_lock() && steps == "pause lock renew"; }));
  EXPECT_EQ(steps, "pause lock resume");
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(ForkHooks, AnEndingScopeIsWaitedFor) {
  std::atomic<bool> inside{false};
  std::thread other([&] {
    const ForkUnsafeScope scope;
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  while (!inside) std::this_thread::yield();
  EXPECT_TRUE(holds_in_child(is_whole));
  other.join();
}

TEST(ForkHooks, AChildOfAProcessThatIsInsideAScopeIsRefused) {
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::thread other([&] {
    const ForkUnsafeScope scope;
    inside = true;
    while (!leave) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!inside) std::this_thread::yield();
  EXPECT_TRUE(
      holds_in_child([] { return !is_whole() && holds_in_child([] { return !is_whole(); }); }));
  EXPECT_TRUE(is_whole());
  leave = true;
  other.join();
  EXPECT_TRUE(holds_in_child(is_whole));
}

TEST(ForkHooks, TheForkingThreadMayBeInsideAScope) {
  const ForkUnsafeScope scope;
  EXPECT_TRUE(holds_in_child(is_whole));
}

TEST(ForkHooks, WhatThreadsWaitedOnIsNewInAChild) {
  if (is_emulated()) GTEST_SKIP() << "QEMU ends a child that makes threads";
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return done; });
  });
  const ForkHooks hooks({.pause = {},
                         .lock = [&] { mutex.lock(); },
                         .resume = [&] { mutex.unlock(); },
                         .renew =
                             [&] {
                               renew_in_child(changed);
                               forget_threads(threads);
                               mutex.unlock();
                             }});
  const auto works = [&] {
    threads.emplace_back([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      done = true;
      changed.notify_all();
    });
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return done; });
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
    return true;
  };
  EXPECT_TRUE(holds_in_child(works));
  EXPECT_TRUE(works());
}

#endif

}  // namespace
}  // namespace tierup
