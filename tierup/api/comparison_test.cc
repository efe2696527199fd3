#include "tierup/api/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tierup::api {
namespace {

Tensor floats(std::vector<float> values, IntVector shape) {
  Tensor tensor = Tensor::empty(shape, ScalarType::kFloat);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::string difference(const IValue& found, const IValue& expected, bool ambiguous = false) {
  ComparisonOptions options;
  options.ambiguous = ambiguous;
  return find_difference(found, expected, options);
}

TEST(Comparison, tensors_need_near_values_and_equal_shapes_and_dtypes) {
  const Tensor a = floats({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(difference(a, floats({1, 2, 3, 4.00001F}, {2, 2})), "");
  EXPECT_NE(difference(a, floats({1, 2, 3, 4.1F}, {2, 2})).find("[1, 1]"), std::string::npos);
  EXPECT_NE(difference(a, floats({1, 2, 3, 4}, {4})), "");
  EXPECT_NE(difference(a, Tensor::scalar(1.0)), "");
}

TEST(Comparison, reads_strided_tensors_in_their_own_order) {
  const Tensor a = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor transposed = a.as_view(IntVector{3, 2}, IntVector{1, 3}, 0);
  EXPECT_EQ(difference(transposed, floats({1, 4, 2, 5, 3, 6}, {3, 2})), "");
}

TEST(Comparison, nan_and_infinity_equal_themselves_only) {
  const float nan = std::nanf("");
  const float inf = INFINITY;
  EXPECT_EQ(difference(floats({nan, inf}, {2}), floats({nan, inf}, {2})), "");
  EXPECT_NE(difference(floats({nan, inf}, {2}), floats({nan, -inf}, {2})), "");
  EXPECT_NE(difference(floats({1, inf}, {2}), floats({nan, inf}, {2})), "");
}

TEST(Comparison, ambiguous_results_may_differ_in_signs_and_order) {
  EXPECT_EQ(difference(floats({-1, 2}, {2}), floats({1, 2}, {2}), true), "");
  EXPECT_EQ(difference(floats({2, 1}, {2}), floats({1, 2}, {2}), true), "");
  EXPECT_NE(difference(floats({3, 1}, {2}), floats({1, 2}, {2}), true), "");
}

TEST(Comparison, numbers_keep_their_kind_and_sequences_do_not) {
  EXPECT_EQ(difference(1, 1), "");
  EXPECT_NE(difference(1.0, 1), "");
  EXPECT_NE(difference(true, 1), "");
  EXPECT_EQ(difference(make_tuple({1, "a"}),
                       IValue(make_ref<ListValue>(Type::any(), std::vector<IValue>{1, "a"}))),
            "");
  EXPECT_NE(difference(make_tuple({1}), make_tuple({1, 2})), "");
}

TEST(Comparison, relative_deviation_is_of_the_largest_value) {
  EXPECT_NEAR(relative_deviation(floats({10, 2}, {2}), floats({10, 1}, {2})), 0.1, 1e-6);
  EXPECT_TRUE(std::isinf(relative_deviation(floats({1}, {1}), floats({1, 2}, {2}))));
}

}  // namespace
}  // namespace tierup::api
