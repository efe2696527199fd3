// Cases that the design of the profiling executor names (T11, T17, T18, T19, T28, T31, T38), as far
// as they are here what they are there.
#include <chrono>
#include <thread>

#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

class DesignCases : public TieredGraphFixture {};

// T38 of the design: no plan of its own, and no call at tier 0, for who does not record.
TEST_F(DesignCases, InputsThatRequireGradSharePlansWhereNoGradientIsRecorded) {
  make("compile=blocking,profiled_runs=1");
  for (int i = 0; i < 3; ++i) call_length(4);
  const IValue leaf = filled({4}, 2);
  leaf.to_tensor().impl()->requires_grad = true;
  for (int i = 0; i < 3; ++i) call({leaf, filled({4}, 3)});
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(report().tier0_calls, 0U);
  EXPECT_EQ(report().plans[0].hits, 6U);
}

// T11.
TEST_F(DesignCases, ReferenceIsDynamicFromTheFirstPlanWhereTheStrategySaysSo) {
  make("policy=reference,compile=blocking,profiled_runs=1,fusion_strategy=dynamic:12");
  for (const int64_t length : {4, 5, 6}) call_length(length);
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(static_plans(), 0U);
  EXPECT_EQ(report().plans[0].hits, 2U);
}

// T17: the size that varied over the profiled runs is open, the other one is known.
TEST_F(DesignCases, ShapesThatVaryOverTheProfiledRunsGiveOnePlanForBoth) {
  make("compile=blocking,profiled_runs=2");
  const auto call_sizes = [&](int64_t rows) {
    const Tensor result = call({filled({rows, 4}, 2), filled({rows, 4}, 3)}).to_tensor();
    EXPECT_EQ(result.data<float>()[4 * rows - 1], 72.0F);
  };
  for (const int64_t rows : {2, 3, 5, 9}) call_sizes(rows);
  EXPECT_EQ(report().plans_made, 1U);
  EXPECT_EQ(report().tier0_calls, 1U);
  EXPECT_EQ(report().profile, "0: float32[s0, 4] contiguous\n1: float32[s0, 4] contiguous\n");
}

// T18: without profiled runs the first call compiles all the same.
TEST_F(DesignCases, NoProfiledRunsCompileAtTheFirstCall) {
  make("policy=reference,compile=blocking,profiled_runs=0");
  call_length(4);
  EXPECT_EQ(report().plans_made, 1U);
  call_length(4);
  EXPECT_EQ(report().plans[0].hits, 1U);
}

// T18: what only explains a plan goes behind its installation, and other shapes get one all the
// same.
TEST_F(DesignCases, NoProfiledRunsAndNoReleaseDelayKeepThePlanAlone) {
  make("policy=reference,compile=background,profiled_runs=0,release_delay_ms=0");
  const auto expect_plans_alone = [&](uint32_t plans) {
    tiers_->wait_for_jobs();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!report().profile.empty() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(report().profile, "");
    EXPECT_EQ(report().plans.size(), plans);
  };
  call_length(4);
  expect_plans_alone(1);
  call({filled({2, 3}, 2), filled({2, 3}, 3)});
  expect_plans_alone(2);
}

// T19: what there is to see before the first plan, and after it.
TEST_F(DesignCases, ReportsNoPlanBeforeTheFirstAndOneAfter) {
  make("compile=blocking,profiled_runs=2");
  EXPECT_TRUE(report().plans.empty());
  EXPECT_EQ(report().reason, Reason::kProfiling);
  EXPECT_EQ(report().budget_left, 12U);
  for (int i = 0; i < 3; ++i) call_length(4);
  ASSERT_EQ(report().plans.size(), 1U);
  EXPECT_EQ(report().reason, Reason::kNone);
  EXPECT_EQ(report().budget_left, 11U);
  EXPECT_FALSE(report().plans[0].graph.empty());
  EXPECT_FALSE(report().plans[0].guard.empty());
}

// T31.
TEST_F(DesignCases, AFunctionOfNumbersLeavesTierZeroWithoutAGroup) {
  make("compile=blocking,profiled_runs=1", R"(graph @main(%x : int, %y : int) {
  %c : int = prim::Constant[value=17]()
  %a : int = aten::add.int(%x, %y)
  %r : int = aten::add.int(%a, %c)
  return (%r)
})");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call({2, 3}).to_int(), 22);
  ASSERT_EQ(report().plans.size(), 1U);
  EXPECT_EQ(report().tier0_calls, 0U);
  EXPECT_EQ(report().plans[0].graph.find("tierup::fusion_group"), std::string::npos);
  EXPECT_EQ(call({-5, 1}).to_int(), 13);
}

// T28: a value that is [4] in one trip and [5] in the next has no known size.
TEST_F(DesignCases, ASizeThatVariesWithinOneCallIsNotBakedIn) {
  make("compile=blocking,profiled_runs=1,verify_passes=on", R"(graph @main(%x : Tensor) {
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant[value=None]()
  %four : int = prim::Constant[value=4]()
  %go : bool = prim::Constant[value=True]()
  %total : Tensor = prim::Loop(%two, %go, %x)
    block0(%i : int, %sum : Tensor):
      %length : int = aten::add.int(%four, %i)
      %part : Tensor = aten::slice.Tensor(%x, %zero, %zero, %length, %one)
      %twice : Tensor = aten::mul.Tensor(%part, %part)
      %more : Tensor = aten::add.Tensor(%twice, %part, %one)
      %s : Tensor = aten::sum(%more, %none)
      %next : Tensor = aten::add.Tensor(%sum, %s, %one)
      -> (%go, %next)
  return (%total)
})");
  for (int i = 0; i < 4; ++i) {
    // Each element of 4 and then of 5 gives 2 * 2 + 2.
    EXPECT_EQ(call({filled({8}, 2)}).to_tensor().data<float>()[7], 2 + 9 * 6.0F);
  }
  EXPECT_EQ(report().plans_made, 1U) << report().detail;
}

}  // namespace
}  // namespace tierup::tier
