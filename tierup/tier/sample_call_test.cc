// Plans that are compared with a call that tier 0 answered.
#include "tierup/tier/sample_call.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "tierup/tier/tiered_graph_fixture.h"

namespace tierup::tier {
namespace {

constexpr int64_t kSide = 1024;

TEST(TensorBytes, AreThoseOfAllTensorsOrUnknown) {
  const IValue tensor = filled({2, 3}, 1);
  EXPECT_EQ(tensor_bytes(tensor), 24U);
  EXPECT_EQ(tensor_bytes(IValue(5)), 0U);
  EXPECT_EQ(tensor_bytes(make_tuple({tensor, make_tuple({tensor, IValue("text")})})), 48U);
  EXPECT_FALSE(tensor_bytes(make_tuple({tensor, IValue::capsule(make_ref<ListValue>(nullptr))})));
}

class PlansOnSamples : public TieredGraphFixture {
 protected:
  void SetUp() override { weight_ = filled({kSide, kSide}, 1.0 / kSide); }

  // Two calls, then what a caller or somebody else may do, then the job.
  void make_plan(const char* text, const std::function<void()>& before_job) {
    make("compile=background", text, weight_);
    std::promise<void> opened;
    const std::shared_future<void> is_open = opened.get_future().share();
    tiers_->queue()->push({.run = [is_open](const std::atomic<bool>&) { is_open.wait(); }});
    for (int i = 0; i < 2; ++i) first(call({input_, IValue()}));
    before_job();
    opened.set_value();
    tiers_->wait_for_jobs();
    ASSERT_EQ(report().plans.size(), 1U) << report().detail;
  }
  static float first(const IValue& result) { return result.to_tensor().data<float>()[0]; }
  // The note of the comparison; empty where there was none.
  std::string note() const {
    const GraphReport all = report();
    for (const StepReport& step : all.plans.at(0).steps) {
      if (step.name == "sample_call") return step.notes.at(0);
    }
    return "";
  }

  const IValue input_ = filled({4, kSide}, 2);
  IValue weight_;
};

TEST_F(PlansOnSamples, AreRightWhereTheyGiveWhatTier0Gave) {
  make_plan(kTwoProducts, [] {});
  EXPECT_NE(note().find("largest difference from tier 0: "), std::string::npos) << note();
  EXPECT_EQ(note().find("one by one"), std::string::npos) << note();
  EXPECT_NEAR(first(call({input_, IValue()})), 2, 1e-4);
}

// The call is a copy: what its caller does with the tensors is no matter.
TEST_F(PlansOnSamples, AreNotMisledByACallerThatUsesItsMemoryAgain) {
  make_plan(kTwoProducts, [this] { kernels::fill_(input_.to_tensor(), Scalar(7.0)); });
  EXPECT_EQ(note().find("one by one"), std::string::npos) << note();
}

// As a weight that somebody writes behind the graph's back.
TEST_F(PlansOnSamples, HaveTheirNetsComparedOneByOneWhereTheyDiffer) {
  make_plan(kTwoProducts, [this] { kernels::fill_(weight_.to_tensor(), Scalar(2.0 / kSide)); });
  EXPECT_NE(note().find("one by one"), std::string::npos) << note();
  EXPECT_NEAR(first(call({input_, IValue()})), 8, 1e-3);
}

// To run it once more would change what the caller sees.
TEST_F(PlansOnSamples, AreNotRunForItIfTheyWriteToWhatIsNotTheirs) {
  make_plan(R"(graph @main(%x : Tensor, %w : Tensor) {
  %none : NoneType = prim::Constant[value=None]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::linear(%x, %w, %none)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::linear(%b, %w, %none)
  %d : Tensor = aten::add_.Scalar(%x, %one, %one)
  return (%c)
})",
            [] {});
  EXPECT_EQ(note(), "");
}

// Two products, and one for each of %n trips, so that a call takes as long as is asked.
constexpr const char* kTrips = R"(graph @main(%x : Tensor, %n : int, %w : Tensor) {
  %true : bool = prim::Constant[value=True]()
  %none : NoneType = prim::Constant[value=None]()
  %a : Tensor = aten::linear(%x, %w, %none)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::linear(%b, %w, %none)
  %h : Tensor = prim::Loop(%n, %true, %c)
    block0(%i : int, %y : Tensor):
      %z : Tensor = aten::linear(%y, %w, %none)
      -> (%true, %z)
  return (%h)
})";

// A plan is made after a long call, which is copied when it has turned out to be one.
TEST_F(PlansOnSamples, AreMadeAndComparedAfterOneLongCall) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [this](int64_t trips) {
    const auto begin = Clock::now();
    EXPECT_NEAR(first(call({input_, IValue(trips), IValue()})), 2, 1e-2);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  make("compile=off", kTrips, weight_);
  int64_t trips = 64;
  while (seconds_of(trips) < 0.2) trips *= 2;
  make("compile=background", kTrips, weight_);
  seconds_of(trips);
  tiers_->wait_for_jobs();
  ASSERT_EQ(report().plans.size(), 1U) << report().detail;
  EXPECT_NE(note().find("largest difference from tier 0: "), std::string::npos) << note();
  // Of short calls one is not enough.
  make("compile=background", kTrips, weight_);
  call({input_, IValue(1), IValue()});
  tiers_->wait_for_jobs();
  EXPECT_TRUE(report().plans.empty());
}

}  // namespace
}  // namespace tierup::tier
