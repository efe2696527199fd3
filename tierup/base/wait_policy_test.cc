#include "tierup/base/wait_policy.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace tierup {
namespace {

TEST(RunnableThreads, AreTheFirstNumberOfThePair) {
  EXPECT_EQ(runnable_threads("0.20 0.18 0.12 3/80 1206\n"), 3);
  EXPECT_EQ(runnable_threads("12.00 1.00 1.00 118/4000 1"), 118);
}

TEST(RunnableThreads, OfAnyOtherTextAreUnknown) {
  for (const char* text :
       {"", "/", "1/2", "0.2 0.1 0.1 x/80", "0.2 0.1 0.1 /80", "0.2 -1/80", "3 80"}) {
    EXPECT_EQ(runnable_threads(text), std::nullopt) << text;
  }
}

TEST(RunnableThreads, OfThisMachineCountTheReader) {
  std::ifstream file("/proc/loadavg");
  std::string line;
  if (!std::getline(file, line)) GTEST_SKIP() << "no /proc/loadavg here";
  EXPECT_GE(runnable_threads(line).value_or(0), 1) << line;
}

TEST(IsSoAtEachLook, NeedsAllOfAFew) {
  int looks = 0;
  EXPECT_TRUE(is_so_at_each_look([&] { return ++looks > 0; }));
  EXPECT_GE(looks, 3);
  const int most = looks;
  for (int no = 1; no <= most; ++no) {
    looks = 0;
    EXPECT_FALSE(is_so_at_each_look([&] { return ++looks != no; }));
    EXPECT_EQ(looks, no);
  }
}

constexpr int64_t kMs = 1'000'000;

// A sample after 20 ms of runs, of which a thread lost its core for `lost`.
CoreSample sample(int64_t ms, bool others_wait, int64_t lost = 0) {
  return {ms * kMs, others_wait, 20 * kMs, lost * kMs};
}

TEST(CrowdedCores, SleepAtOnceIfOthersWaitAtTheFirstSample) {
  CrowdedCores crowded;
  EXPECT_TRUE(crowded.note(sample(1000, true)));
  CrowdedCores free;
  EXPECT_FALSE(free.note(sample(1000, false)));
  EXPECT_FALSE(free.note(sample(1010, true)));  // They take no core from us.
}

TEST(CrowdedCores, WakeAfterThreeQuietSamplesInARow) {
  CrowdedCores cores;
  EXPECT_TRUE(cores.note(sample(1000, true)));
  EXPECT_TRUE(cores.note(sample(1010, false)));
  EXPECT_TRUE(cores.note(sample(1020, true)));
  EXPECT_TRUE(cores.note(sample(1030, false)));
  EXPECT_TRUE(cores.note(sample(1040, false)));
  EXPECT_FALSE(cores.note(sample(1050, false)));
}

TEST(CrowdedCores, WakeWhereOthersWereSeenToLeave) {
  CrowdedCores cores;
  EXPECT_TRUE(cores.note(sample(1000, true)));
  cores.others_left(1003 * kMs);
  EXPECT_FALSE(cores.note(sample(1010, true)));
}

// Three windows of which most was lost; whether the threads sleep then.
bool note_losses(CrowdedCores& cores, int64_t& ms) {
  for (int window = 0; window < 2; ++window) {
    if (cores.note(sample(ms += 20, true, 15))) return false;  // Too soon.
  }
  return cores.note(sample(ms += 20, true, 15));
}

TEST(CrowdedCores, WakeForATrialAndSleepTwiceAsLongWhereItFails) {
  CrowdedCores cores;
  EXPECT_TRUE(cores.note(sample(1000, true)));
  EXPECT_TRUE(cores.note(sample(1099, true)));
  EXPECT_FALSE(cores.note(sample(1100, true)));
  int64_t ms = 1100;
  EXPECT_TRUE(note_losses(cores, ms));
  EXPECT_TRUE(cores.note(sample(ms + 199, true, 15)));
  EXPECT_FALSE(cores.note(sample(ms + 200, true, 15)));
}

TEST(CrowdedCores, StayAwakeWhereLittleIsLost) {
  CrowdedCores cores;
  EXPECT_TRUE(cores.note(sample(1000, true)));
  EXPECT_FALSE(cores.note(sample(1100, true)));
  for (int window = 0; window < 10; ++window) {
    EXPECT_FALSE(cores.note(sample(1100 + 20 * window, true, window % 3 == 2 ? 2 : 15)));
  }
}

TEST(CrowdedCores, SleepNoLongerThanALimitAndBeginAnewAfterAGoodSecond) {
  CrowdedCores cores;
  int64_t ms = 1000;
  EXPECT_TRUE(cores.note(sample(ms, true)));
  for (int trial = 0; trial < 10; ++trial) {
    EXPECT_FALSE(cores.note(sample(ms += 3200, true)));
    EXPECT_TRUE(note_losses(cores, ms));
  }
  EXPECT_TRUE(cores.note(sample(ms + 3199, true)));
  EXPECT_FALSE(cores.note(sample(ms += 3200, true)));
  EXPECT_FALSE(cores.note(sample(ms += 1000, true)));
  EXPECT_TRUE(note_losses(cores, ms));
  EXPECT_FALSE(cores.note(sample(ms += 100, true)));
}

TEST(CrowdedCores, DoNotSleepForLossesWhereNobodyElseWaits) {
  CrowdedCores cores;
  EXPECT_FALSE(cores.note(sample(1000, false)));
  for (int window = 1; window < 10; ++window) {
    EXPECT_FALSE(cores.note(sample(1000 + 20 * window, false, 15)));
  }
}

TEST(ParkedTeam, HasItsThreadsAndLeavesWhenToldAndAtItsEnd) {
  ParkedTeam told(3);
  while (told.members() < 3) std::this_thread::yield();
  told.leave();
  const ParkedTeam untold(2);
}

TEST(WaitPolicyScope, StandsAroundRunsOfAnyThreadCount) {
  for (const int threads : {1, 2, 64}) {
    for (int run = 0; run < 3; ++run) const WaitPolicyScope scope(threads);
  }
}

TEST(WaitAwake, EndsWhenDoneOrAfterAWhile) {
  EXPECT_TRUE(wait_awake([] { return true; }));
  EXPECT_FALSE(wait_awake([] { return false; }));
  std::atomic<bool> done{false};
  std::thread other([&] { done.store(true); });
  wait_awake([&] { return done.load(); });
  other.join();
  EXPECT_TRUE(wait_awake([&] { return done.load(); }));
}

}  // namespace
}  // namespace tierup
