#include "tierup/tensor/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tierup {
namespace {

Tensor floats(std::vector<float> values, IntVector shape) {
  Tensor tensor = Tensor::empty(shape, ScalarType::kFloat);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::string difference(const IValue& found, const IValue& expected) {
  return find_difference(found, expected, {});
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

TEST(Comparison, numbers_keep_their_kind_and_sequences_do_not) {
  EXPECT_EQ(difference(1, 1), "");
  EXPECT_NE(difference(1.0, 1), "");
  EXPECT_NE(difference(true, 1), "");
  EXPECT_EQ(difference(make_tuple({1, "a"}),
                       IValue(make_ref<ListValue>(Type::any(), std::vector<IValue>{1, "a"}))),
            "");
  EXPECT_NE(difference(make_tuple({1}), make_tuple({1, 2})), "");
}

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

TEST(Comparison, a_nan_or_an_infinity_is_infinitely_far_from_any_number) {
  for (const float odd : {kNan, kInfinity, -kInfinity}) {
    for (const float other : {0.0F, 1.0F, odd == kInfinity ? -kInfinity : kInfinity}) {
      if (std::isinf(other) && std::isinf(odd) && odd == other) continue;
      EXPECT_TRUE(std::isinf(relative_deviation(floats({odd, 1}, {2}), floats({other, 1}, {2}))));
      EXPECT_TRUE(std::isinf(relative_deviation(floats({other, 1}, {2}), floats({odd, 1}, {2}))));
      EXPECT_NE(difference(floats({odd, 1}, {2}), floats({other, 1}, {2})), "");
      EXPECT_NE(difference(floats({other, 1}, {2}), floats({odd, 1}, {2})), "");
    }
    EXPECT_EQ(relative_deviation(floats({odd, 1}, {2}), floats({odd, 1}, {2})), 0);
  }
  EXPECT_TRUE(std::isinf(relative_deviation(floats({kNan, kNan}, {2}), floats({1, 2}, {2}))));
  EXPECT_TRUE(std::isinf(relative_deviation(IValue(std::nan("")), IValue(1.0))));
}

TEST(Comparison, an_expected_infinity_hides_no_other_difference) {
  const Tensor expected = floats({kInfinity, 1}, {2});
  EXPECT_GT(relative_deviation(floats({kInfinity, 2}, {2}), expected), 0.5);
  ComparisonOptions options;
  options.relative_to_largest = true;
  EXPECT_NE(find_difference(floats({kInfinity, 2}, {2}), expected, options), "");
  Tensor complex = Tensor::empty(IntVector{1}, ScalarType::kComplexFloat);
  *complex.data<complex64>() = complex64(kInfinity, 100);
  Tensor other = Tensor::empty(IntVector{1}, ScalarType::kComplexFloat);
  *other.data<complex64>() = complex64(kInfinity, 1);
  EXPECT_NE(difference(complex, other), "");
}

TEST(Comparison, numbers_beside_tensors_deviate_too) {
  const IValue expected = make_tuple({floats({1}, {1}), 2.0});
  EXPECT_EQ(relative_deviation(make_tuple({floats({1}, {1}), 3.0}), expected), 0.5);
  // A case that holds flattened tensors says nothing of numbers.
  EXPECT_EQ(relative_deviation(expected, make_tuple({floats({1}, {1})})), 0);
}

TEST(Comparison, zeros_are_no_scale) {
  EXPECT_EQ(relative_deviation(floats({0}, {1}), floats({0}, {1})), 0);
  EXPECT_TRUE(std::isinf(relative_deviation(floats({1e-6F}, {1}), floats({0}, {1}))));
}

TEST(Comparison, a_relative_bound_may_be_of_the_largest_value) {
  ComparisonOptions options;
  options.tolerances = Tolerances::uniform({1e-3, 0});
  EXPECT_NE(find_difference(floats({100, 0.05F}, {2}), floats({100, 0}, {2}), options), "");
  options.relative_to_largest = true;
  EXPECT_EQ(find_difference(floats({100, 0.05F}, {2}), floats({100, 0}, {2}), options), "");
  EXPECT_NE(find_difference(floats({100, 0.2F}, {2}), floats({100, 0}, {2}), options), "");
}

TEST(Comparison, what_passes_deviates_all_the_same) {
  ComparisonOptions options;
  options.tolerances = Tolerances::uniform({1e-3, 0});
  for (const bool relative : {false, true}) {
    options.relative_to_largest = relative;
    Deviation deviation;
    EXPECT_EQ(
        find_difference(floats({100.0625F, 4}, {2}), floats({100, 4}, {2}), options, &deviation),
        "");
    EXPECT_EQ(deviation.max_absolute, 0.0625);
  }
}

IValue dict_of(const char* key, IValue value) {
  auto dict = make_ref<DictValue>(Type::str(), Type::any());
  dict->set(key, std::move(value));
  return dict;
}

IValue object_of(IValue value) {
  auto type = ClassType::make("Pair", false);
  type->add_attribute({"first", Type::any()});
  type->add_attribute({"self", Type::any()});
  auto object = make_ref<ObjectValue>(type);
  object->set("first", std::move(value));
  object->set("self", object);
  return object;
}

TEST(Comparison, dicts_and_objects_are_compared_by_what_they_hold) {
  EXPECT_EQ(difference(dict_of("a", 1.0), dict_of("a", 1.0)), "");
  EXPECT_EQ(difference(dict_of("a", 1.0), dict_of("a", 2.0)), "the result[a] is 1. instead of 2.");
  EXPECT_NE(difference(dict_of("a", 1.0), dict_of("b", 1.0)), "");
  const IValue one = object_of(1);
  const IValue same = object_of(1);
  const IValue two = object_of(2);
  EXPECT_EQ(difference(one, same), "");
  EXPECT_EQ(difference(one, two), "the result.first is 1 instead of 2");
  for (const IValue& object : {one, same, two}) object.to_object().set("self", IValue());
}

TEST(Comparison, what_cannot_be_compared_says_so) {
  EXPECT_TRUE(is_comparable(make_tuple({1, dict_of("a", floats({1}, {1}))})));
  const IValue future = make_ref<FutureValue>(Type::any());
  EXPECT_FALSE(is_comparable(future));
  EXPECT_FALSE(is_comparable(make_tuple({1, dict_of("a", future)})));
}

TEST(Comparison, tolerances_by_dtype_are_those_of_assert_close_and_can_be_replaced_one_by_one) {
  Tolerances tolerances = Tolerances::of_dtypes();
  EXPECT_EQ(tolerances.of(ScalarType::kFloat).rtol, 1.3e-6);
  EXPECT_EQ(tolerances.of(ScalarType::kBFloat16).rtol, 1.6e-2);
  EXPECT_EQ(tolerances.of_number().atol, 1e-7);
  tolerances.replace(std::nullopt, 0.5);
  EXPECT_EQ(tolerances.of(ScalarType::kHalf).rtol, 1e-3);
  EXPECT_EQ(tolerances.of(ScalarType::kHalf).atol, 0.5);
}

TEST(Comparison, relative_deviation_is_of_the_largest_value) {
  EXPECT_NEAR(relative_deviation(floats({10, 2}, {2}), floats({10, 1}, {2})), 0.1, 1e-6);
  EXPECT_TRUE(std::isinf(relative_deviation(floats({1}, {1}), floats({1, 2}, {2}))));
}

}  // namespace
}  // namespace tierup
