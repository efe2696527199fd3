// Lifecycle of graphs: which calls compile, which plans they get, what never happens.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tierup/base/parallel.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

class TieredGraphTest : public TieredGraphFixture {};

TEST_F(TieredGraphTest, ReferenceTakesStaticThenDynamicByTheStrategy) {
  make("policy=reference,compile=blocking,profiled_runs=1");
  for (const int64_t length : {4, 4, 5, 5, 6, 6, 7, 100}) call_length(length);
  EXPECT_EQ(report().plans_made, 3U);
  EXPECT_EQ(static_plans(), 2U);
  EXPECT_EQ(report().tier0_calls, 3U);
}

TEST_F(TieredGraphTest, AFailedAdoptionLeavesTheGraphToItsOwnCalls) {
  make("compile=blocking,profiled_runs=1");
  call_length(4);
  ASSERT_EQ(report().plans.size(), 1U);
  TieringOptions tiering;
  tiering.apply("compile=blocking,profiled_runs=1,compile_failures=1");
  TieredProgram next(*program_, tiering);
  TieredGraph& adopting = next.add(program_->slot_of(*function_), nullptr);
  adopting.adopt(*graph_);
  EXPECT_EQ(adopting.report().plans.size(), 0U);
  EXPECT_EQ(adopting.report().reason, Reason::kProfiling);
  EXPECT_NE(adopting.report().detail.find("compile_failures"), std::string::npos);
  graph_ = &adopting;
  call_length(4);
  EXPECT_EQ(report().plans.size(), 1U);
  EXPECT_EQ(report().detail, "");
}

TEST_F(TieredGraphTest, AFailedCompilationPins) {
  make("compile=blocking,profiled_runs=1,compile_failures=1");
  for (int i = 0; i < 3; ++i) call_length(4);
  EXPECT_EQ(report().plans.size(), 0U);
  EXPECT_EQ(report().reason, Reason::kCompileFailed);
}

TEST_F(TieredGraphTest, AFailedCompilationInTheBackgroundPinsAndAnswersGoOn) {
  make("compile=background,profiled_runs=1,compile_failures=1");
  for (int i = 0; i < 3; ++i) {
    call_length(4);
    tiers_->wait_for_jobs();
  }
  EXPECT_EQ(report().tier0_calls, 3U);
  EXPECT_EQ(report().reason, Reason::kCompileFailed);
  EXPECT_NE(report().detail, "");
  EXPECT_EQ(report().failed_jobs, 1U);
}

TEST_F(TieredGraphTest, ReferenceCompilesNoMoreOnceADynamicPlanStands) {
  make("policy=reference,compile=blocking,profiled_runs=1");
  for (const int64_t length : {4, 5, 6, 7, 8}) call_length(length);
  EXPECT_EQ(report().plans_made, 3U);
  EXPECT_EQ(report().plans[0].hits, 2U);
}

TEST_F(TieredGraphTest, AnotherRankOrDtypeGetsAPlanOfItsOwn) {
  make("policy=reference,compile=blocking,profiled_runs=1");
  for (const int64_t length : {4, 5, 6, 7}) call_length(length);
  const Tensor square = call({filled({2, 3}, 2), filled({2, 3}, 3)}).to_tensor();
  EXPECT_EQ(square.data<float>()[5], 72.0F);
  const Tensor wide =
      call({filled({4}, 2, ScalarType::kDouble), filled({4}, 3, ScalarType::kDouble)}).to_tensor();
  EXPECT_EQ(wide.data<double>()[3], 72.0);
  EXPECT_EQ(report().plans_made, 5U);
  EXPECT_GE(report().guard_failures[static_cast<size_t>(runtime::GuardOutcome::kRank)], 1U);
}

TEST_F(TieredGraphTest, WithoutABudgetTheSimplePlanRunsForEver) {
  make("policy=reference,compile=blocking,profiled_runs=1,fusion_strategy=dynamic:0");
  for (int i = 0; i < 3; ++i) call_length(4);
  EXPECT_EQ(report().plans_made, 0U);
  EXPECT_EQ(report().reason, Reason::kBudgetSpent);
}

TEST_F(TieredGraphTest, ASpentBudgetPinsOtherShapesToTierZero) {
  make("policy=reference,compile=blocking,profiled_runs=1,fusion_strategy=static:1");
  for (const int64_t length : {4, 5, 6, 7, 4}) call_length(length);
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(report().reason, Reason::kBudgetSpent);
  EXPECT_EQ(report().plans[0].hits, 1U);
}

TEST_F(TieredGraphTest, FourteenRanksSpendABudgetOfTwelve) {
  make("policy=reference,compile=blocking,profiled_runs=1,max_plans=20");
  for (size_t rank = 1; rank <= 14; ++rank) {
    for (int i = 0; i < 2; ++i) {
      IntVector sizes;
      for (size_t d = 0; d < rank; ++d) sizes.push_back(1);
      EXPECT_EQ(call({filled(sizes, 2), filled(sizes, 3)}).to_tensor().data<float>()[0], 72.0F);
    }
  }
  EXPECT_EQ(report().plans_made, 12U);
  // T10: by the strategy static:2+dynamic:10.
  EXPECT_EQ(static_plans(), 2U);
  for (const PlanReport& plan : report().plans) EXPECT_EQ(plan.is_static, plan.serial <= 2);
}

TEST_F(TieredGraphTest, ProfilesAsManyRunsAsAsked) {
  make("policy=reference,compile=blocking,profiled_runs=2");
  call_length(4);
  EXPECT_EQ(report().plans_made, 0U);
  call_length(4);
  call_length(4);
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(report().tier0_calls, 2U);
}

TEST_F(TieredGraphTest, AdaptiveServesAnyLengthWithOnePlanMadeInTheBackground) {
  make("compile=background,profiled_runs=2,plan_trial=off");
  call_length(4);
  call_length(5);
  tiers_->wait_for_jobs();
  for (const int64_t length : {6, 7, 100}) call_length(length);
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(report().plans[0].hits, 3U);
}

TEST_F(TieredGraphTest, NoCallWaitsForAJob) {
  make("compile=background,profiled_runs=1,compile_delay_ms=600000");
  for (int i = 0; i < 20; ++i) call_length(4);
  EXPECT_EQ(report().plans_made, 0U);
  EXPECT_EQ(report().reason, Reason::kJobQueued);
}

TEST_F(TieredGraphTest, JobsHaveTheThreadsOfTheirCallersAndNoMore) {
  make("compile=background,profiled_runs=1");
  for (const int threads : {1, 3}) {
    const ThreadCountScope scope(threads);
    call_length(4);
    tiers_->wait_for_jobs();
    ops::RunContext context;
    std::vector<IValue> args = {filled({4}, 2), filled({4}, 3)};
    const Ref<const runtime::RunState> state(make_ref<runtime::RunState>().get());
    graph_->run(args, context, state);
    ASSERT_NE(context.background, nullptr);
    int seen = 0;
    context.background->push([&] { seen = intra_op_threads(); });
    tiers_->wait_for_jobs();
    EXPECT_EQ(seen, threads);
  }
}

TEST_F(TieredGraphTest, AFlushDropsPlansAndJobsAndBeginsAnew) {
  make("compile=background,profiled_runs=1");
  call_length(4);
  tiers_->wait_for_jobs();
  ASSERT_EQ(report().plans.size(), 1U);
  tiers_->flush();
  EXPECT_TRUE(report().plans.empty());
  call_length(4);
  tiers_->flush();
  tiers_->wait_for_jobs();
  EXPECT_TRUE(report().plans.empty());
  call_length(4);
  tiers_->wait_for_jobs();
  EXPECT_EQ(report().plans.size(), 1U);
}

TEST_F(TieredGraphTest, GradModeHasPlansOfItsOwn) {
  make("policy=reference,compile=blocking,profiled_runs=1");
  for (const bool grad_mode : {false, true, false, true}) {
    const Tensor result = call({filled({4}, 2), filled({4}, 3)}, grad_mode).to_tensor();
    EXPECT_EQ(result.data<float>()[3], 72.0F);
  }
  EXPECT_EQ(report().guard_failures[static_cast<size_t>(runtime::GuardOutcome::kPolicy)], 1U);
  EXPECT_EQ(report().tier0_calls, 2U);
  ASSERT_EQ(report().plans.size(), 2U);
  for (const PlanReport& plan : report().plans) EXPECT_EQ(plan.hits, 1U);
}

TEST_F(TieredGraphTest, GuardsThatAlwaysFailLeaveEveryCallToTierZero) {
  make("compile=blocking,profiled_runs=1,guards_fail=on");
  for (int i = 0; i < 5; ++i) call_length(4);
  EXPECT_EQ(report().tier0_calls, 5U);
}

TEST_F(TieredGraphTest, ProfilesStayForTheReleaseDelay) {
  make("compile=background,profiled_runs=1,release_delay_ms=3600000");
  call_length(4);
  tiers_->wait_for_jobs();
  EXPECT_FALSE(report().profile.empty());
}

TEST_F(TieredGraphTest, ProfilesGoAfterTheReleaseDelay) {
  make("compile=background,profiled_runs=1,release_delay_ms=50");
  call_length(4);
  tiers_->wait_for_jobs();
  ASSERT_EQ(report().plans.size(), 1U);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!report().profile.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(report().profile.empty());
  EXPECT_EQ(report().plans.size(), 1U);
}

TEST_F(TieredGraphTest, ArenasOfIdlePlansAreGivenBackAlsoAfterAFlush) {
  constexpr int64_t kLength = 1 << 20;
  make("compile=background,profiled_runs=1,release_delay_ms=50,fusion=off,plan_trial=off");
  for (int round = 0; round < 2; ++round) {
    const int64_t before = allocator_stats().live_bytes;
    for (int i = 0; i < 5; ++i) {
      call({filled({kLength}, 2), filled({kLength}, 3)});
      tiers_->wait_for_jobs();
    }
    ASSERT_EQ(report().plans.size(), 1U);
    ASSERT_EQ(report().plans[0].memory.size(), 1U);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (allocator_stats().live_bytes > before && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_LE(allocator_stats().live_bytes, before) << "round " << round;
    tiers_->flush();
  }
}

// An exporter's symbols stand in types; the profile gives the inputs' types anew.
TEST_F(TieredGraphTest, AnInputInATupleWithSizesOfTheFrontEndIsSpecialised) {
  make("compile=blocking,profiled_runs=1,verify_passes=on", R"(graph @main(%a : Float(s0, 3)) {
  %t : Tuple[Float(s0, 3), Float(s0, 3)] = prim::TupleConstruct(%a, %a)
  return (%t)
})");
  for (int i = 0; i < 2; ++i) call({filled({2, 3}, 1)});
  EXPECT_EQ(report().plans_made, 1U) << report().detail;
}

TEST_F(TieredGraphTest, AnErrorOfTheModelIsRaisedOnceAndProfilesNothing) {
  make("compile=blocking,profiled_runs=1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(call({filled({4}, 2), filled({5}, 3)}), Error);
  }
  EXPECT_EQ(report().plans_made, 0U);
  call_length(4);
  EXPECT_EQ(report().plans_made, 1U);
}

TEST_F(TieredGraphTest, AnEffectOfARehearsedCallHappensOnce) {
  make("compile=blocking,profiled_runs=1", R"(graph @main(%a : Tensor) {
  %one : int = prim::Constant[value=1]()
  %r : Tensor = aten::add_.Scalar(%a, %one, %one)
  return (%r)
})");
  const IValue counter = filled({2}, 0);
  for (int i = 1; i <= 3; ++i) {
    call({counter});
    EXPECT_EQ(counter.to_tensor().data<float>()[0], static_cast<float>(i));
  }
  EXPECT_EQ(report().plans_made, 1U);
}

TEST_F(TieredGraphTest, ManyThreadsFromColdGetRightAnswersAndOnePlan) {
  make("compile=background,profiled_runs=2");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int64_t i = 0; i < 200; ++i) call_length(1 + (t + i) % 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  tiers_->wait_for_jobs();
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(report().calls, 1600U);
}

// Eight threads profile, two of them are enough, and the plan is there before the others are done:
// what these saw must not be taken for shapes that it does not serve.
TEST_F(TieredGraphTest, ARunThatBeganBeforeThePlanIsNoProfileForAnother) {
  make("policy=reference,compile=blocking,profiled_runs=1", R"(graph @main(%a : Tensor) {
  %one : int = prim::Constant[value=1]()
  prim::Print(%one)
  %r : Tensor = aten::add.Tensor(%a, %a, %one)
  return (%r)
})");
  const Ref<const runtime::RunState> state(make_ref<runtime::RunState>().get());
  const auto call_printing = [&](const std::function<void(const std::string&)>& print) {
    ops::RunContext context;
    context.print = print;
    std::vector<IValue> args = {filled({4}, 2)};
    EXPECT_EQ(graph_->run(args, context, state).to_tensor().data<float>()[3], 4.0F);
  };
  // Another call comes, and its plan, while the first one is profiled.
  call_printing([&](const std::string&) { call_printing([](const std::string&) {}); });
  EXPECT_EQ(report().tier0_calls, 2U);
  EXPECT_EQ(report().plans_made, 1U);
}

// What operators make in the background is a job of the graph.
TEST_F(TieredGraphTest, WorkOfAnOperatorThatThrowsIsTold) {
  make("compile=background,profiled_runs=1");
  call_length(4);
  tiers_->wait_for_jobs();
  ops::RunContext context;
  std::vector<IValue> args = {filled({4}, 2), filled({4}, 3)};
  graph_->run(args, context, Ref<const runtime::RunState>(make_ref<runtime::RunState>().get()));
  ASSERT_NE(context.background, nullptr);
  context.background->push([] { throw std::runtime_error("no kernel for it"); });
  tiers_->wait_for_jobs();
  EXPECT_EQ(report().failed_jobs, 1U);
  EXPECT_EQ(report().reason, Reason::kCompileFailed);
  EXPECT_NE(report().detail.find("no kernel for it"), std::string::npos) << report().detail;
  call_length(4);
}

}  // namespace
}  // namespace tierup::tier
