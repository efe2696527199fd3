// What differs, and verify_rate: which calls are compared with tier 0, and what follows.
#include "tierup/tier/live_check.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>

#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

IValue vector_of(std::vector<float> values) {
  Tensor tensor = Tensor::empty(IntVector{static_cast<int64_t>(values.size())}, ScalarType::kFloat);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

TEST(FirstDifference, SmallDeviationsAgainstTheLargestValuePass) {
  EXPECT_FALSE(first_difference(vector_of({100, 0}), vector_of({100.05F, 0.05F})));
}

TEST(FirstDifference, NamesPlaceElementAndValues) {
  const auto difference = first_difference(make_tuple({vector_of({1, 2}), vector_of({1, 2})}),
                                           make_tuple({vector_of({1, 2}), vector_of({1, 3})}));
  EXPECT_EQ(difference, "the result[1][1] is 3 instead of 2 (500 times the tolerance)");
}

TEST(FirstDifference, NansAndInfinitiesMustStandWhereTheyStood) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(first_difference(vector_of({nan, infinity}), vector_of({nan, infinity})));
  EXPECT_TRUE(first_difference(vector_of({nan}), vector_of({0})));
  EXPECT_TRUE(first_difference(vector_of({infinity, 1}), vector_of({-infinity, 1})));
}

TEST(FirstDifference, ShapesKindsAndIntegersMustBeEqual) {
  EXPECT_TRUE(first_difference(vector_of({1}), vector_of({1, 1})));
  EXPECT_TRUE(first_difference(vector_of({1}), IValue(1)));
  EXPECT_TRUE(first_difference(IValue(3), IValue(4)));
  EXPECT_FALSE(first_difference(IValue("same"), IValue("same")));
}

class LiveChecks : public TieredGraphFixture {};

TEST_F(LiveChecks, FindNothingInARightPlan) {
  make("compile=blocking,profiled_runs=1,verify_rate=1");
  for (int i = 0; i < 5; ++i) call_length(4);
  tiers_->wait_for_jobs();
  EXPECT_EQ(report().checked_calls, 5U);
  EXPECT_EQ(report().reason, Reason::kNone);
}

// A plan that folded a list which then was written behind its back: no guard watches constants.
TEST_F(LiveChecks, FindAWrongPlanAndTheNodeAndDemoteIt) {
  for (const char* result : {"%r", "%l", "%d", "%t"}) {
    const Ref<ListValue> list = make_int_list(IntVector{2});
    const std::string text = std::string(R"(graph @main(%a : Tensor, %c : List[int]) {
  %zero : int = prim::Constant[value=0]()
  %key : str = prim::Constant[value="key"]()
  %n : int = aten::__getitem__.t(%c, %zero)
  %square : int = aten::mul.int(%n, %n)
  %r : Tensor = aten::mul.Scalar(%a, %square)
  %l : List[Tensor] = prim::ListConstruct(%a, %r)
  %d : Dict[str, Tensor] = prim::DictConstruct(%key, %r)
  %t : Tuple[Tensor, Tensor] = prim::TupleConstruct(%a, %r)
  return ()") + result + ")\n}";
    make("compile=blocking,profiled_runs=1,verify_rate=1", text.c_str(), IValue(list));
    const std::vector<IValue> args{filled({4}, 3), IValue()};
    call(args);
    tiers_->wait_for_jobs();
    ASSERT_EQ(report().plans.size(), 1U) << report().detail;
    EXPECT_EQ(report().checked_calls, 1U);
    EXPECT_EQ(report().reason, Reason::kNone) << report().detail;
    list->items[0] = IValue(5);
    call(args);
    tiers_->wait_for_jobs();
    EXPECT_EQ(report().checked_calls, 2U) << result;
    EXPECT_EQ(report().reason, Reason::kMismatch) << result;
    EXPECT_TRUE(report().plans.empty());
    EXPECT_NE(report().detail.find("is 12 instead of 75"), std::string::npos) << report().detail;
    EXPECT_NE(report().detail.find("first at aten::mul.Scalar"), std::string::npos)
        << report().detail;
    // And tier 0 answers from now on.
    const uint64_t before = report().tier0_calls;
    call(args);
    EXPECT_EQ(report().tier0_calls, before + 1);
  }
}

TEST_F(LiveChecks, ACallWhoseResultCannotBeComparedIsNotCountedAsChecked) {
  make("compile=blocking,profiled_runs=1,verify_rate=1", R"(graph @main(%f : Future[Tensor]) {
  return (%f)
})");
  auto future = make_ref<FutureValue>(Type::tensor());
  future->complete(filled({4}, 3));
  for (int i = 0; i < 3; ++i) call({future});
  tiers_->wait_for_jobs();
  EXPECT_EQ(report().plans.size(), 1U) << report().detail;
  EXPECT_EQ(report().checked_calls, 0U);
  EXPECT_EQ(report().reason, Reason::kNone) << report().detail;
}

TEST_F(LiveChecks, ADemotedGraphRunsAtTierZeroWithItsReason) {
  make("compile=blocking,profiled_runs=1");
  call_length(4);
  graph_->demote("[0]: element 3 differs");
  call_length(4);
  EXPECT_EQ(report().reason, Reason::kMismatch);
  EXPECT_EQ(report().detail, "[0]: element 3 differs");
  EXPECT_TRUE(report().plans.empty());
}

TEST_F(LiveChecks, APlanInTheMakingIsNotInstalledOnceItsGraphWasFoundWrong) {
  make("compile=background,profiled_runs=1");
  std::promise<void> demoted;
  const std::shared_future<void> is_demoted = demoted.get_future().share();
  tiers_->queue()->push({.run = [is_demoted](const std::atomic<bool>&) { is_demoted.wait(); }});
  call_length(4);  // Its job comes after that one: the queue has one thread.
  ASSERT_EQ(report().reason, Reason::kJobQueued);
  graph_->demote("[0]: element 3 differs");
  demoted.set_value();
  tiers_->wait_for_jobs();
  call_length(4);
  EXPECT_TRUE(report().plans.empty());
  EXPECT_EQ(report().reason, Reason::kMismatch);
  EXPECT_EQ(report().tier0_calls, 2U);
}

}  // namespace
}  // namespace tierup::tier
