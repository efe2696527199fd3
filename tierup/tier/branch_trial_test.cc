#include "tierup/tier/branch_trial.h"

#include <gtest/gtest.h>

#include <thread>

#include "tierup/ir/graph_editor.h"
#include "tierup/runtime/lower.h"

namespace tierup::tier {
namespace {

std::unique_ptr<const runtime::Plan> empty_plan() {
  return runtime::lower(std::make_shared<ir::Graph>("empty"));
}

// Calls that take so many microseconds by the plan; returns how many of the last ten were branched.
int branched_after_trial(BranchTrial& trial, BranchTrial::Signature sizes, int plain,
                         int branched) {
  int last = 0;
  for (int call = 0; call < 60; ++call) {
    BranchTrial::Turn turn = trial.begin(sizes);
    const bool is_branched = turn.branched() != nullptr;
    const auto end =
        BranchTrial::Clock::now() + std::chrono::microseconds(is_branched ? branched : plain);
    while (BranchTrial::Clock::now() < end) {
    }
    turn.finish();
    if (call >= 50 && is_branched) ++last;
  }
  return last;
}

TEST(BranchTrial, takes_the_branched_plan_only_where_it_is_clearly_faster) {
  BranchTrial trial;
  EXPECT_EQ(trial.begin(1).branched(), nullptr);  // Nothing is offered yet.
  trial.offer(empty_plan());
  EXPECT_EQ(branched_after_trial(trial, 1, 400, 200), 10);
  EXPECT_EQ(branched_after_trial(trial, 2, 200, 400), 0);
  EXPECT_EQ(branched_after_trial(trial, 3, 300, 298), 0);
  EXPECT_NE(trial.to_string().find("branched (plain 0.4"), std::string::npos) << trial.to_string();
}

TEST(BranchTrial, sizes_beyond_the_table_stay_plain) {
  BranchTrial trial;
  trial.offer(empty_plan());
  for (BranchTrial::Signature sizes = 1; sizes <= 8; ++sizes) trial.begin(sizes);
  for (int call = 0; call < 20; ++call) EXPECT_EQ(trial.begin(9).branched(), nullptr);
}

TEST(BranchTrial, any_number_of_threads_take_turns) {
  BranchTrial trial;
  trial.offer(empty_plan());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (BranchTrial::Signature call = 0; call < 400; ++call) trial.begin(call % 4 + 1).finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trial.to_string().find("still tried"), std::string::npos) << trial.to_string();
}

}  // namespace
}  // namespace tierup::tier
