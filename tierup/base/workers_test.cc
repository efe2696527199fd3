#include "tierup/base/workers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tierup/base/parallel.h"
#include "tierup/base/sanitizers.h"

namespace tierup {
namespace {

int64_t sum_in_parallel() {
  std::atomic<int64_t> sum{0};
  parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

// Threads of this process.
int64_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(Workers, ServeTheLoopsWithoutMoreThreads) {
  std::thread([] {  // Whose team nobody made yet.
    const ThreadCountScope threads(3);
    start_workers();
    const int64_t started = thread_count();
    start_workers();
    EXPECT_EQ(sum_in_parallel(), 499500);
    EXPECT_LE(thread_count(), started);
  })
      .join();
}

#ifndef TIERUP_THREAD_SANITIZER  // Which allows no threads after a fork.
TEST(Workers, OfAForkedProcessAreItsOwn) {
  const ThreadCountScope threads(2);
  start_workers();
  EXPECT_EQ(sum_in_parallel(), 499500);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // Ends a child that waits for threads which it does not have.
    _exit(sum_in_parallel() == 499500 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(sum_in_parallel(), 499500);
}
#endif

}  // namespace
}  // namespace tierup
