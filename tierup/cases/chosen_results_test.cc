// What may be chosen passes; anything else must not: each test plants a fault beside right answers.
#include "tierup/cases/chosen_results.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/base/error.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::api {
namespace {

Tensor floats(std::vector<float> values, IntVector shape) {
  Tensor tensor = Tensor::empty(shape, ScalarType::kFloat);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

Tensor integers(std::vector<int64_t> values, IntVector shape) {
  Tensor tensor = Tensor::empty(shape, ScalarType::kLong);
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

std::string choice(const char* name, std::vector<IValue> args, std::vector<IValue> results,
                   std::vector<IValue> expected) {
  const ops::Op& op = *ops::OpTable::instance().find(name);
  const ComparisonOptions options;
  return check_choice({op, args, results, expected, options});
}

const IValue kNumbers = floats({2, 1, 2, 0}, {4});

TEST(ChosenResults, equal_elements_come_in_any_order_and_unsorted_ones_are_found) {
  const std::vector<IValue> args{kNumbers, -1, false};
  const std::vector<IValue> expected{floats({0, 1, 2, 2}, {4}), integers({3, 1, 0, 2}, {4})};
  const auto sorted = [&](const Tensor& values, const Tensor& indices) {
    return choice("aten::sort", args, {values, indices}, expected);
  };
  EXPECT_EQ(sorted(floats({0, 1, 2, 2}, {4}), integers({3, 1, 0, 2}, {4})), "");
  EXPECT_EQ(sorted(floats({0, 1, 2, 2}, {4}), integers({3, 1, 2, 0}, {4})), "");
  EXPECT_NE(sorted(floats({2, 1, 2, 0}, {4}), integers({0, 1, 2, 3}, {4})), "");
  EXPECT_NE(sorted(floats({2, 2, 1, 0}, {4}), integers({0, 2, 1, 3}, {4})), "");
  EXPECT_NE(sorted(floats({0, 1, 2, 2}, {4}), integers({3, 1, 0, 0}, {4})), "");
  EXPECT_NE(sorted(floats({0, 1, 2, 2}, {4}), integers({3, 0, 1, 2}, {4})), "");
  EXPECT_NE(sorted(floats({0, 1, 2, 2}, {4}), integers({3, 1, 0, 4}, {4})), "");
  EXPECT_NE(sorted(floats({0, 1, 2, 2.000001F}, {4}), integers({3, 1, 0, 2}, {4})), "");
}

TEST(ChosenResults, a_stable_sort_has_one_answer) {
  const std::vector<IValue> args{kNumbers, true, -1, false};
  const std::vector<IValue> expected{floats({0, 1, 2, 2}, {4}), integers({3, 1, 0, 2}, {4})};
  EXPECT_EQ(choice("aten::sort.stable", args, expected, expected), "");
  EXPECT_NE(choice("aten::sort.stable", args, {expected[0], integers({3, 1, 2, 0}, {4})}, expected),
            "");
}

TEST(ChosenResults, lines_are_of_the_dimension_that_is_sorted) {
  const std::vector<IValue> args{floats({3, 1, 2, 4}, {2, 2}), 0, false};
  const std::vector<IValue> expected{floats({2, 1, 3, 4}, {2, 2}), integers({1, 0, 0, 1}, {2, 2})};
  EXPECT_EQ(choice("aten::sort", args, expected, expected), "");
  EXPECT_NE(choice("aten::sort", args, {expected[0], integers({0, 0, 1, 1}, {2, 2})}, expected),
            "");
}

TEST(ChosenResults, indices_alone_must_point_where_the_expected_ones_do) {
  const std::vector<IValue> args{kNumbers, -1, true};
  const std::vector<IValue> expected{integers({0, 2, 1, 3}, {4})};
  EXPECT_EQ(choice("aten::argsort", args, {integers({2, 0, 1, 3}, {4})}, expected), "");
  EXPECT_NE(choice("aten::argsort", args, {integers({0, 1, 2, 3}, {4})}, expected), "");
}

TEST(ChosenResults, the_largest_are_in_order_if_that_is_asked_for) {
  const std::vector<IValue> expected{floats({2, 2, 1}, {3}), integers({0, 2, 1}, {3})};
  const std::vector<IValue> shuffled{floats({1, 2, 2}, {3}), integers({1, 2, 0}, {3})};
  EXPECT_EQ(choice("aten::topk", {kNumbers, 3, -1, true, false}, shuffled, expected), "");
  EXPECT_NE(choice("aten::topk", {kNumbers, 3, -1, true, true}, shuffled, expected), "");
  const std::vector<IValue> others{floats({0, 2, 2}, {3}), integers({3, 2, 0}, {3})};
  EXPECT_NE(choice("aten::topk", {kNumbers, 3, -1, true, false}, others, expected), "");
}

TEST(ChosenResults, a_picked_element_stands_where_its_index_points) {
  const std::vector<IValue> args{kNumbers, -1, false};
  const std::vector<IValue> expected{floats({2}, {}), integers({2}, {})};
  for (const char* name : {"aten::mode", "aten::median.dim"}) {
    EXPECT_EQ(choice(name, args, {floats({2}, {}), integers({0}, {})}, expected), "");
    EXPECT_NE(choice(name, args, {floats({2}, {}), integers({1}, {})}, expected), "");
    EXPECT_NE(choice(name, args, {floats({1}, {}), integers({1}, {})}, expected), "");
  }
}

const IValue kSquare = floats({0, 2, 3, 0}, {2, 2});

TEST(ChosenResults, signs_of_factors_are_free_and_their_product_is_not) {
  const std::vector<IValue> expected{floats({0, -1, -1, 0}, {2, 2}),
                                     floats({-3, 0, 0, -2}, {2, 2})};
  const auto qr = [&](const Tensor& q, const Tensor& r) {
    return choice("aten::linalg_qr", {kSquare, "reduced"}, {q, r}, expected);
  };
  EXPECT_EQ(qr(floats({0, -1, -1, 0}, {2, 2}), floats({-3, 0, 0, -2}, {2, 2})), "");
  EXPECT_EQ(qr(floats({0, 1, 1, 0}, {2, 2}), floats({3, 0, 0, 2}, {2, 2})), "");
  EXPECT_NE(qr(floats({0, 1, 1, 0}, {2, 2}), floats({3, 0, 0, -2}, {2, 2})), "");
  // The same numbers in another order are another matrix.
  EXPECT_NE(qr(floats({1, 0, 0, 1}, {2, 2}), floats({3, 0, 0, 2}, {2, 2})), "");
  // A product that is right does not make up for columns that are no basis, or for no triangle.
  EXPECT_NE(qr(floats({0, 2, 2, 0}, {2, 2}), floats({1.5F, 0, 0, 1}, {2, 2})), "");
  EXPECT_NE(qr(floats({1, 0, 0, 1}, {2, 2}), floats({0, 2, 3, 0}, {2, 2})), "");
}

TEST(ChosenResults, singular_vectors_belong_to_their_values) {
  const std::vector<IValue> expected{floats({0, 1, 1, 0}, {2, 2}), floats({3, 2}, {2}),
                                     floats({1, 0, 0, 1}, {2, 2})};
  const auto svd = [&](const Tensor& u, const Tensor& s, const Tensor& v) {
    return choice("aten::linalg_svd", {kSquare, true, IValue()}, {u, s, v}, expected);
  };
  EXPECT_EQ(svd(floats({0, -1, 1, 0}, {2, 2}), floats({3, 2}, {2}), floats({1, 0, 0, -1}, {2, 2})),
            "");
  EXPECT_NE(svd(floats({1, 0, 0, 1}, {2, 2}), floats({3, 2}, {2}), floats({1, 0, 0, 1}, {2, 2})),
            "");
  EXPECT_NE(svd(floats({0, 1, 1, 0}, {2, 2}), floats({2, 3}, {2}), floats({1, 0, 0, 1}, {2, 2})),
            "");
}

TEST(ChosenResults, eigenvectors_are_of_the_triangle_that_is_read) {
  // Above the diagonal stands what must not be read.
  const IValue input = floats({2, 77, 0, 1}, {2, 2});
  const std::vector<IValue> expected{floats({1, 2}, {2}), floats({0, 1, 1, 0}, {2, 2})};
  const auto eigh = [&](const Tensor& w, const Tensor& v) {
    return choice("aten::linalg_eigh", {input, "L"}, {w, v}, expected);
  };
  EXPECT_EQ(eigh(floats({1, 2}, {2}), floats({0, -1, 1, 0}, {2, 2})), "");
  EXPECT_NE(eigh(floats({1, 2}, {2}), floats({1, 0, 0, 1}, {2, 2})), "");
  EXPECT_NE(eigh(floats({2, 1}, {2}), floats({1, 0, 0, 1}, {2, 2})), "");
}

TEST(ChosenResults, an_operator_without_a_rule_is_refused) {
  EXPECT_THROW(choice("aten::relu", {kNumbers}, {kNumbers}, {kNumbers}), Error);
}

}  // namespace
}  // namespace tierup::api
