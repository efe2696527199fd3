// Which thread takes a task, and what idle threads keep.
#include "tierup/executor/work_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <filesystem>
#include <future>
#include <iterator>
#include <set>

#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"

namespace tierup::executor {
namespace {

using std::chrono::milliseconds;

constexpr int kThreads = 3;

class Pool : public ::testing::Test {
 protected:
  // Each thread of the pool does it once, all at the same time.
  void have_all_do(const std::function<void()>& work) {
    const auto together = std::make_shared<std::barrier<>>(kThreads + 1);
    for (int i = 0; i < kThreads; ++i) {
      const auto run = [together, work] {
        work();
        together->arrive_and_wait();
      };
      ASSERT_TRUE(pool_.submit({run, [] {}}));
    }
    together->arrive_and_wait();
    wait_until_all_sleep();
  }
  // However long a busy machine takes over it.
  void wait_until_all_sleep() const {
    while (pool_.idle() < kThreads) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  std::thread::id thread_of_next_task() {
    std::promise<std::thread::id> id;
    EXPECT_TRUE(pool_.submit({[&] { id.set_value(std::this_thread::get_id()); }, [] {}}));
    return id.get_future().get();
  }

  WorkPool pool_{kThreads, 100};
};

TEST_F(Pool, gives_tasks_in_turn_to_the_thread_that_slept_the_shortest) {
  have_all_do([] {});
  std::set<std::thread::id> ids;
  for (int i = 0; i < 20; ++i) {
    ids.insert(thread_of_next_task());
    wait_until_all_sleep();
  }
  EXPECT_EQ(ids.size(), 1U);
}

// It leaves it to the other for some naps, which are never shorter than was asked for, however busy
// the machine is.
TEST_F(Pool, gives_a_thread_that_tells_a_moment_to_take_the_next) {
  using Clock = std::chrono::steady_clock;
  have_all_do([] {});
  auto shortest = Clock::duration::max();
  for (int i = 0; i < 100; ++i) {
    std::promise<void> told;
    const auto tell = [&] {
      std::promise<Clock::time_point> started;
      const auto submitted = Clock::now();
      ASSERT_TRUE(pool_.submit({[&] { started.set_value(Clock::now()); }, [] {}}));
      shortest = std::min(shortest, started.get_future().get() - submitted);
      told.set_value();
    };
    ASSERT_TRUE(pool_.submit({[] {}, tell}));
    told.get_future().get();
    wait_until_all_sleep();
  }
  EXPECT_GE(shortest, std::chrono::microseconds(80));
}

// Mostly: it may lose its core meanwhile, on a busy machine for many rounds in a row.
TEST_F(Pool, lets_a_thread_that_tells_of_a_task_take_the_next) {
  have_all_do([] {});
  const auto is_the_same = [this] {
    std::promise<std::thread::id> first;
    std::promise<std::thread::id> second;
    const auto tell = [&] {
      // As a caller does that was told.
      ASSERT_TRUE(pool_.submit({[&] { second.set_value(std::this_thread::get_id()); }, [] {}}));
      const auto start = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(100)) continue;
    };
    EXPECT_TRUE(pool_.submit({[&] { first.set_value(std::this_thread::get_id()); }, tell}));
    const bool same = first.get_future().get() == second.get_future().get();
    wait_until_all_sleep();
    return same;
  };
  int same = 0;
  for (int turn = 0; turn < 20 && same <= 75; ++turn) {
    same = 0;
    for (int i = 0; i < 100; ++i) same += is_the_same() ? 1 : 0;
  }
  EXPECT_GT(same, 75);
}

TEST_F(Pool, has_a_thread_that_tells_for_long_hold_up_nobody) {
  have_all_do([] {});
  std::promise<void> done;
  const auto tell = [&] {
    ASSERT_TRUE(pool_.submit({[&] { done.set_value(); }, [] {}}));
    EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  };
  std::promise<void> told;
  ASSERT_TRUE(pool_.submit({[] {},
                            [&] {
                              tell();
                              told.set_value();
                            }}));
  told.get_future().get();
}

TEST_F(Pool, ends_the_teams_of_idle_threads_but_one) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  have_all_do([] {});
  const auto before = threads();
  have_all_do([] {
    const ThreadCountScope scope(4);
    start_workers();
  });
  for (int naps = 0; naps < 5000 && threads() > before + 3; ++naps)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(threads(), before + 3);
}

}  // namespace
}  // namespace tierup::executor
