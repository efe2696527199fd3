#include "tierup/base/workers.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/base/piece_queue.h"
#include "tierup/base/sanitizers.h"
#include "tierup/base/wait_policy.h"

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
using ThreadIds = std::set<std::string>;

ThreadIds thread_ids() {
  ThreadIds ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(entry.path().filename());
  return ids;
}

ThreadIds common(const ThreadIds& left, const ThreadIds& right) {
  ThreadIds both;
  std::ranges::set_intersection(left, right, std::inserter(both, both.end()));
  return both;
}

ThreadIds new_since(const ThreadIds& before) {
  ThreadIds fresh;
  std::ranges::set_difference(thread_ids(), before, std::inserter(fresh, fresh.end()));
  return fresh;
}

TEST(Workers, ServeTheLoopsWithoutMoreThreads) {
  std::thread([] {  // Whose team nobody made yet.
    const ThreadCountScope threads(3);
    start_workers();
    const ThreadIds started = thread_ids();
    start_workers();
    EXPECT_EQ(sum_in_parallel(), 499500);
    EXPECT_TRUE(new_since(started).empty());
  })
      .join();
}

// So many threads that their maker is moved while it makes them.
TEST(Workers, AndTheirMakerMayRunWhereItMightBefore) {
  std::thread([] {
    cpu_set_t before;
    CPU_ZERO(&before);
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    const ThreadIds others = thread_ids();
    const ThreadCountScope threads(64);
    start_workers();
    for (const std::string& id : new_since(others)) {
      cpu_set_t now;
      CPU_ZERO(&now);
      ASSERT_EQ(sched_getaffinity(std::stoi(id), sizeof(now), &now), 0);
      EXPECT_TRUE(CPU_EQUAL(&now, &before));
    }
    cpu_set_t now;
    CPU_ZERO(&now);
    ASSERT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&now, &before));
  }).join();
}

// Has the calling thread go to each of the cores in turn and say that it is there.
void note_on(TeamCores& team, const std::vector<int>& cores) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  for (const int core : cores) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(core), &only);
    ASSERT_EQ(sched_setaffinity(0, sizeof(only), &only), 0);
    team.note_own();
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(Workers, AreMovedApartWhereTwoShareACore) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core";
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::vector<int> cores;
  for (int core = 0; core < 64 && cores.size() < 2; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &allowed)) cores.push_back(core);
  }
  if (cores.size() < 2) GTEST_SKIP() << "cores of high numbers";
  const auto is_moved = [](const std::vector<int>& visited, bool threads_sleep = true) {
    bool result = false;
    std::thread([&] {  // Which has not looked yet.
      const ThreadCountScope threads(2);
      start_workers();
      const auto begin = std::chrono::steady_clock::now();
      TeamCores team(threads_sleep);
      note_on(team, visited);
      result = team.move_apart(2);
      TeamCores soon_after(threads_sleep);
      note_on(soon_after, visited);
      const bool is_again = soon_after.move_apart(2);
      const bool is_soon = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(10);
      EXPECT_FALSE(is_soon && is_again);
    })
        .join();
    return result;
  };
  EXPECT_TRUE(is_moved({cores[0], cores[0]}));
  EXPECT_FALSE(is_moved(cores));
  EXPECT_FALSE(is_moved({cores[0], cores[0]}, false));
}

TEST(Workers, AreStartedOnceLoopsHaveTakenLong) {
#ifdef __clang__
  GTEST_SKIP() << "LLVM's OpenMP keeps threads for whoever comes next";
#endif
  std::thread([] {
    const ThreadCountScope threads(3);
    const ThreadIds before = thread_ids();
    parallel_for(0, 2, 1, [](int64_t, int64_t) {});
    EXPECT_TRUE(new_since(before).empty());
    std::vector<std::atomic<int>> visits(100);
    parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        ++visits[static_cast<size_t>(i)];
      }
    });
    EXPECT_EQ(new_since(before).size(), 2);
    for (const std::atomic<int>& count : visits) EXPECT_EQ(count, 1);
  }).join();
}

TEST(Workers, AreStartedOnceShortLoopsHaveTakenLongTogether) {
#ifdef __clang__
  GTEST_SKIP() << "LLVM's OpenMP keeps threads for whoever comes next";
#endif
  std::thread([] {
    const ThreadCountScope threads(3);
    const ThreadIds before = thread_ids();
    for (int loop = 0; loop < 20; ++loop) {
      parallel_for(0, 2, 1, [](int64_t begin, int64_t end) {
        const auto last =
            std::chrono::steady_clock::now() + (end - begin) * std::chrono::microseconds(20);
        while (std::chrono::steady_clock::now() < last) {
        }
      });
    }
    EXPECT_FALSE(new_since(before).empty());
  }).join();
}

TEST(Workers, OfABriefTeamEndWithItsScope) {
#ifdef __clang__
  GTEST_SKIP() << "LLVM's OpenMP keeps threads for whoever comes next";
#endif
  std::thread([] {
    const ThreadIds before = thread_ids();  // Some of which may be about to end.
    ThreadIds brief_team;
    {
      const BriefTeamScope brief;
      const ThreadCountScope threads(3);
      start_workers();
      brief_team = new_since(before);
    }
    EXPECT_EQ(brief_team.size(), 2);
    for (int naps = 0; naps < 5000 && !common(brief_team, thread_ids()).empty(); ++naps)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(common(brief_team, thread_ids()).empty());
    const ThreadCountScope threads(3);
    start_workers();
    const ThreadIds lasting_team = new_since(before);
    {
      const BriefTeamScope brief;
      EXPECT_EQ(sum_in_parallel(), 499500);
    }
    EXPECT_EQ(common(lasting_team, thread_ids()), lasting_team);
  }).join();
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
    start_workers();
    _exit(sum_in_parallel() == 499500 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(sum_in_parallel(), 499500);
}

// Threads that want all cores.
std::vector<std::jthread> crowd() {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4 * usable_cores(); ++i)
    threads.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  return threads;
}

// Runs this in a process of its own, that has not looked at the machine yet.
int status_of_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// 0 if short loops were done by the calling thread alone, and a long one visited everything once.
int loops_beside_a_crowd() {
  const std::jthread::id own = std::this_thread::get_id();
  const std::vector<std::jthread> others = crowd();
  const ThreadCountScope threads(2);
  const WaitPolicyScope scope(2);
  TimeAlone::spend(TimeAlone::left());
  std::atomic<int> elsewhere{0};
  for (int loop = 0; loop < 20; ++loop) {
    parallel_for(0, 2, 1, [&](int64_t, int64_t) {
      if (std::this_thread::get_id() != own) ++elsewhere;
    });
  }
  std::vector<std::atomic<int>> visits(200);
  parallel_for(0, 200, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      ++visits[static_cast<size_t>(i)];
    }
  });
  const bool once = std::ranges::all_of(visits, [](const auto& count) { return count == 1; });
  return elsewhere == 0 && once ? 0 : 1;
}

TEST(Workers, AreNotWaitedForByShortLoopsInACrowd) {
  EXPECT_EQ(status_of_child(loops_beside_a_crowd), 0);
}

// Pieces of much more than a time slice: the first ones alone, the rest by whoever comes.
int pieces_beside_a_crowd() {
  const std::vector<std::jthread> others = crowd();
  const ThreadCountScope threads(2);
  const WaitPolicyScope scope(2);
  std::vector<std::atomic<int>> visits(400);
  parallel_pieces(400, 2, [&](int64_t piece, int64_t) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    ++visits[static_cast<size_t>(piece)];
  });
  return std::ranges::all_of(visits, [](const auto& count) { return count == 1; }) ? 0 : 1;
}

TEST(Workers, TakePiecesThatAreLeftAfterATimeSliceInACrowd) {
  EXPECT_EQ(status_of_child(pieces_beside_a_crowd), 0);
}

constexpr int kOthersStay = 77;

// 0 if a run that was limited by a crowd is so until the crowd has gone, work outside of the run is
// not, and neither is the next run.
int run_that_outlasts_a_crowd() {
  const ThreadCountScope threads(2);
  std::vector<std::jthread> others = crowd();
  {
    const WaitPolicyScope scope(2);
    const BackgroundScope job;  // Which may be the others.
    if (prepare_team() != TeamState::kReady || !cores_are_crowded()) return 7;
  }
  {
    const WaitPolicyScope scope(2);
    if (prepare_team() != TeamState::kLimited || run_limit() != 1) return 1;
    if (intra_op_threads() != 2) return 2;  // Loops are cut as ever.
    {
      const OutsideRunScope outside;
      if (run_limit() == 1 || is_in_run()) return 3;
    }
    if (run_limit() != 1) return 4;
    others.clear();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (prepare_team() == TeamState::kLimited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (std::chrono::steady_clock::now() > end) return others_wait_beside(2) ? kOthersStay : 8;
    }
    if (cores_are_crowded()) return 5;
  }
  const WaitPolicyScope next(2);
  return prepare_team() == TeamState::kReady ? 0 : 6;
}

TEST(Workers, ComeBackToARunWhenACrowdHasGone) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core";
  const int status = status_of_child(run_that_outlasts_a_crowd);
  if (status == kOthersStay) GTEST_SKIP() << "others keep the machine's cores busy";
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace tierup
