#include "tierup/tier/live_check.h"

#include <gtest/gtest.h>

#include <limits>

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
  EXPECT_EQ(difference, "[1]: element 1 of float32[2] is 3 instead of 2");
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

}  // namespace
}  // namespace tierup::tier
