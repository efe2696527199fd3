#include "tierup/base/side_thread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

namespace tierup {
namespace {

bool has_two_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 1;
}

TEST(SideThread, DoesWorkInTheGivenOrderInAnotherThread) {
  if (!has_two_cores()) GTEST_SKIP() << "the process has one core";
  SideThread side;
  side.start();
  ASSERT_TRUE(side.is_running());
  std::vector<int> done;
  std::promise<std::thread::id> last;
  for (int i = 0; i < 10; ++i) {
    side.add([&, i](const std::stop_token&) { done.push_back(i); });
  }
  side.add([&](const std::stop_token&) { last.set_value(std::this_thread::get_id()); });
  EXPECT_NE(last.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(done, std::vector<int>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(SideThread, StoppedItEndsItsWorkAndBeginsNoOther) {
  if (!has_two_cores()) GTEST_SKIP() << "the process has one core";
  std::atomic<bool> begun{false};
  std::atomic<bool> other{false};
  {
    SideThread side;
    side.start();
    side.add([&](const std::stop_token& stop) {
      begun = true;
      while (!stop.stop_requested()) std::this_thread::yield();
    });
    side.add([&](const std::stop_token&) { other = true; });
    while (!begun) std::this_thread::yield();
    side.stop();
  }
  EXPECT_FALSE(other);
}

int64_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(SideThread, FinishingItDoesWhatItWasGivenAndEnds) {
  if (!has_two_cores()) GTEST_SKIP() << "the process has one core";
  const int64_t before = threads_of_process();
  std::atomic<int> done{0};
  SideThread side;
  side.start();
  for (int i = 0; i < 10; ++i) side.add([&](const std::stop_token&) { ++done; });
  side.finish();
  const auto is_over = [&] { return done == 10 && threads_of_process() <= before; };
  for (int naps = 0; !is_over() && naps < 2000; ++naps)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(done, 10);
  EXPECT_LE(threads_of_process(), before);  // Of which some may have been about to end.
}

TEST(SideThread, DropsWorkWithoutAThread) {
  auto held = std::make_shared<int>();
  SideThread side;
  side.add([held](const std::stop_token&) { FAIL(); });
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tierup
