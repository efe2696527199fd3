#include "tierup/profile/graph_profile.h"

#include <gtest/gtest.h>

namespace tierup::profile {
namespace {

IValue tensor(std::initializer_list<int64_t> sizes, ScalarType dtype = ScalarType::kFloat) {
  return Tensor::empty(IntVector(sizes), dtype);
}

TEST(GraphProfile, DimensionsThatMoveTogetherShareASymbol) {
  GraphProfile profile;
  const std::vector<std::vector<IValue>> runs = {{tensor({2, 4}), tensor({4, 2})},
                                                 {tensor({3, 5}), tensor({5, 3})},
                                                 {tensor({7, 9}), tensor({9, 7})}};
  for (const auto& run : runs) profile.record(run);
  EXPECT_EQ(profile.symbols_of(0)[0], profile.symbols_of(1)[1]);
  EXPECT_EQ(profile.symbols_of(0)[1], profile.symbols_of(1)[0]);
  EXPECT_NE(profile.symbols_of(0)[0], profile.symbols_of(0)[1]);
}

TEST(GraphProfile, AccidentalEqualitySplits) {
  GraphProfile profile;
  profile.record(std::vector<IValue>{tensor({2, 2})});
  EXPECT_EQ(profile.to_string(), "0: float32[2, 2] contiguous\n");
  profile.record(std::vector<IValue>{tensor({3, 5})});
  EXPECT_NE(profile.symbols_of(0)[0], profile.symbols_of(0)[1]);
}

TEST(GraphProfile, RankAndDtypeThatVaryAreUnknown) {
  GraphProfile profile;
  profile.record(std::vector<IValue>{tensor({2, 2})});
  profile.record(std::vector<IValue>{tensor({2, 2, 2}, ScalarType::kDouble)});
  profile.record(std::vector<IValue>{tensor({2, 2})});
  EXPECT_FALSE(profile.arguments()[0].rank.has_value());
  EXPECT_FALSE(profile.arguments()[0].dtype.has_value());
}

TEST(GraphProfile, BoolsAreKnownWhileTheyDoNotVary) {
  GraphProfile profile;
  profile.record(std::vector<IValue>{IValue(true)});
  EXPECT_EQ(profile.arguments()[0].truth, true);
  profile.record(std::vector<IValue>{IValue(false)});
  EXPECT_FALSE(profile.arguments()[0].truth.has_value());
}

// Two sightings of one place within a run, as of a value that a loop makes.
ValueProfile seen_in_one_run(const IValue& first, const IValue& second) {
  ValueProfile value;
  value.record(first);
  value.record(second);
  return value;
}
// The same two, each in a run of its own.
ValueProfile seen_in_two_runs(const IValue& first, const IValue& second) {
  ValueProfile all;
  for (const IValue& each : {first, second}) {
    ValueProfile run;
    run.record(each);
    all.merge(run);
  }
  return all;
}

IValue transposed() {
  return Tensor::empty(IntVector{4, 2}, ScalarType::kFloat)
      .as_view(IntVector{2, 4}, IntVector{1, 2}, 0);
}

IValue with_grad(bool requires_grad) {
  const Tensor result = Tensor::empty(IntVector{2, 4}, ScalarType::kFloat);
  result.impl()->requires_grad = requires_grad;
  return result;
}

class TwoSightings : public testing::TestWithParam<decltype(&seen_in_one_run)> {};

TEST_P(TwoSightings, OfEqualTensorsKeepAllThatIsKnown) {
  const ValueProfile value = GetParam()(tensor({2, 4}), tensor({2, 4}));
  EXPECT_EQ(value.kind, ValueProfile::Kind::kTensor);
  EXPECT_EQ(value.dtype, ScalarType::kFloat);
  EXPECT_EQ(value.order, MemoryOrder::kContiguous);
  EXPECT_EQ(value.requires_grad, false);
  EXPECT_EQ((*value.facts().sizes)[0], (Dim{Dim::Kind::kStatic, 2}));
}

TEST_P(TwoSightings, OfOtherSizesLeaveTheSizeOpen) {
  const ValueProfile value = GetParam()(tensor({4, 3}), tensor({5, 3}));
  ASSERT_EQ(value.rank, 2U);
  EXPECT_TRUE(value.dims[0].varied);
  EXPECT_FALSE(value.dims[1].varied);
  EXPECT_EQ((*value.facts().sizes)[0], Dim{});
  EXPECT_EQ((*value.facts().sizes)[1], (Dim{Dim::Kind::kStatic, 3}));
}

TEST_P(TwoSightings, OfOtherOrdersLeaveTheOrderOpen) {
  const ValueProfile value = GetParam()(tensor({2, 4}), transposed());
  EXPECT_FALSE(value.order.has_value());
  EXPECT_EQ(value.dtype, ScalarType::kFloat);
  EXPECT_EQ(GetParam()(transposed(), transposed()).order, MemoryOrder::kStrided);
}

TEST_P(TwoSightings, OfEqualStridesKeepThemWhereTheyAreNotContiguous) {
  EXPECT_FALSE(GetParam()(tensor({2, 4}), tensor({2, 4})).facts().strides.has_value());
  EXPECT_FALSE(GetParam()(tensor({2, 4}), transposed()).facts().strides.has_value());
  const std::optional<std::vector<Dim>> seen =
      GetParam()(transposed(), transposed()).facts().strides;
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ((*seen)[0], (Dim{Dim::Kind::kStatic, transposed().to_tensor().strides()[0]}));
  EXPECT_EQ((*seen)[1], (Dim{Dim::Kind::kStatic, transposed().to_tensor().strides()[1]}));
}

TEST_P(TwoSightings, OfOtherGradientsLeaveRequiresGradOpen) {
  EXPECT_EQ(GetParam()(with_grad(true), with_grad(true)).requires_grad, true);
  const ValueProfile value = GetParam()(with_grad(true), with_grad(false));
  EXPECT_FALSE(value.requires_grad.has_value());
  EXPECT_FALSE(value.facts().requires_grad.has_value());
}

// None is what an undefined tensor is.
TEST_P(TwoSightings, OfNoneAndATensorAreNoTensor) {
  EXPECT_EQ(GetParam()(IValue(Tensor()), IValue()).kind, ValueProfile::Kind::kNone);
  for (const bool none_first : {true, false}) {
    const IValue value = tensor({2});
    const ValueProfile seen =
        none_first ? GetParam()(IValue(), value) : GetParam()(value, IValue());
    EXPECT_EQ(seen.kind, ValueProfile::Kind::kMixed);
    EXPECT_EQ(seen.type(true), nullptr);
    EXPECT_EQ(seen.type(false), nullptr);
  }
}

TEST_P(TwoSightings, OfBoolsThatDifferLeaveTheTruthOpen) {
  EXPECT_EQ(GetParam()(IValue(true), IValue(true)).truth, true);
  EXPECT_FALSE(GetParam()(IValue(true), IValue(false)).truth.has_value());
}

INSTANTIATE_TEST_SUITE_P(Runs, TwoSightings, testing::Values(&seen_in_one_run, &seen_in_two_runs),
                         [](const auto& info) { return info.index == 0 ? "one" : "two"; });

// A third sighting that agrees with the first does not bring back what the second one took.
TEST(GraphProfile, WhatOnceVariedStaysOpen) {
  GraphProfile profile;
  for (const IValue& value : {tensor({2, 4}), transposed(), tensor({3, 4}), tensor({2, 4})})
    profile.record(std::vector<IValue>{value});
  const ValueProfile& seen = profile.arguments()[0];
  EXPECT_FALSE(seen.order.has_value());
  EXPECT_TRUE(seen.dims[0].varied);
}

}  // namespace
}  // namespace tierup::profile
