#include "tierup/kernels/net/trial.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tierup::kernels::net {
namespace {

// Times of each candidate, run by run; the last one stays.
class Script {
 public:
  explicit Script(std::vector<std::vector<TrialRun>> times)
      : times_(std::move(times)), runs_(times_.size()) {}
  TrialRun operator()(size_t i) {
    const std::vector<TrialRun>& line = times_[i];
    return line[std::min(runs_[i]++, line.size() - 1)];
  }
  size_t runs(size_t i) const { return runs_[i]; }

 private:
  std::vector<std::vector<TrialRun>> times_;
  std::vector<size_t> runs_;
};

TrialResult decide(Script& script, size_t count) {
  return try_candidates(count, [&](size_t i) { return script(i); });
}

TEST(Trial, TheLeastTimeCountsAndTheFirstRunDoesNot) {
  Script script(
      {{{0.9, false}, {1.0, false}, {1.1, false}}, {{2.0, false}, {1.2, false}, {0.8, false}}});
  const TrialResult result = decide(script, 2);
  EXPECT_EQ(result.winner, 1U);
  EXPECT_EQ(result.milliseconds[0], 1.0);
  EXPECT_EQ(result.milliseconds[1], 0.8);
}

TEST(Trial, DisturbedRunsAreDoneAgain) {
  Script script({{{0.1, false}, {0.5, true}, {0.5, true}, {0.1, false}}, {{0.2, false}}});
  const TrialResult result = decide(script, 2);
  EXPECT_EQ(result.winner, 0U);
  EXPECT_EQ(result.milliseconds[0], 0.1);
}

TEST(Trial, LongDisturbedRunsAreNotDoneAgain) {
  Script script({{{30, true}}, {{100, true}}});
  EXPECT_EQ(decide(script, 2).winner, 0U);
  EXPECT_EQ(script.runs(0) + script.runs(1), 2U);
}

TEST(Trial, WhatTakesTooLongByItsBoundIsNotRun) {
  Script script({{{2, false}}, {{9, false}}, {{2.9, false}}});
  const double least[] = {0, 8, 2.8};
  const TrialResult result = try_candidates(
      3, [&](size_t i) { return script(i); }, [&](size_t i) { return least[i]; });
  EXPECT_EQ(result.winner, 0U);
  EXPECT_EQ(script.runs(1), 0U);
  EXPECT_EQ(result.milliseconds[1], kNotRun);
  EXPECT_GT(script.runs(2), 0U);
}

TEST(Trial, OfShortRunsNoBoundIsAsked) {
  Script script({{{0.5, false}}, {{0.4, false}}});
  const TrialResult result = try_candidates(
      2, [&](size_t i) { return script(i); }, [&](size_t) { return 100.0; });
  EXPECT_EQ(result.winner, 1U);
}

TEST(Trial, WhatCannotDoItIsLeftOut) {
  Script script({{{kNotRun, false}}, {{1, false}}});
  EXPECT_EQ(decide(script, 2).winner, 1U);
  EXPECT_EQ(script.runs(0), 1U);
}

TEST(Trial, WhatCannotDoItTakesNoLooksFromTheOthers) {
  Script script({{{kNotRun, false}}, {{0.400, false}}, {{0.376, false}}});
  const TrialResult result = decide(script, 3);
  EXPECT_EQ(result.winner, 2U);
  EXPECT_EQ(result.rounds, 4);
}

TEST(Trial, CloseCallsGetFurtherLooks) {
  Script script({{{0.400, false}}, {{0.376, false}}});
  const TrialResult result = decide(script, 2);
  EXPECT_EQ(result.winner, 1U);
  EXPECT_EQ(result.rounds, 4);
}

TEST(Trial, OfEqualsTheFirstIsTakenWithoutFurtherLooks) {
  Script script({{{1.00, false}}, {{0.98, false}}});
  const TrialResult result = decide(script, 2);
  EXPECT_EQ(result.winner, 0U);
  EXPECT_EQ(result.rounds, 2);
}

TEST(Trial, OfLongRunsTheFirstTellsWhoIsBehind) {
  Script script({{{3, false}}, {{5, false}}});
  const TrialResult result = decide(script, 2);
  EXPECT_EQ(result.winner, 0U);
  EXPECT_EQ(result.milliseconds[0], 3);
  EXPECT_EQ(script.runs(0) + script.runs(1), 2U);
}

TEST(Trial, WhoIsClearlyBehindIsNotLookedAtAgain) {
  Script script({{{1, false}}, {{10, false}}, {{1.5, false}}});
  EXPECT_EQ(decide(script, 3).winner, 0U);
  EXPECT_EQ(script.runs(1), 1U);
  EXPECT_EQ(script.runs(2), 2U);
}

TEST(Trial, LongRunsAreNotRepeatedForLong) {
  Script script({{{30, false}}, {{31, false}}});
  EXPECT_LE(decide(script, 2).rounds, 2);
}

TEST(Trial, ARunThatWaitsIsDisturbedAndItsWaitingIsNotCounted) {
  const TrialRun run =
      timed_run([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  EXPECT_TRUE(run.is_disturbed);
  EXPECT_LT(run.milliseconds, 15);
}

}  // namespace
}  // namespace tierup::kernels::net
