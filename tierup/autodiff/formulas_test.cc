// Formulas run on tensors: numbers worked out by hand.
#include <gtest/gtest.h>

#include "tierup/autodiff/call_gradients.h"
#include "tierup/base/error.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::autodiff {
namespace {

Tensor floats(const std::vector<int64_t>& sizes, const std::vector<float>& values) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

std::vector<float> numbers(const IValue& value) {
  const Tensor t = value.to_tensor();
  return {t.data<float>(), t.data<float>() + t.numel()};
}

const ops::Op& row(std::string_view name) { return *ops::OpTable::instance().find(name); }

using Floats = std::vector<float>;

TEST(Formulas, ProductGivesEachFactorTheOther) {
  const auto done =
      differentiate_call(row("aten::mul.Tensor"), {floats({2}, {2, 3}), floats({2}, {5, 7})}, {},
                         {floats({2}, {1, 10})});
  EXPECT_EQ(numbers(done.gradients[0]), (Floats{5, 70}));
  EXPECT_EQ(numbers(done.gradients[1]), (Floats{2, 30}));
}

TEST(Formulas, BroadcastingIsSummedBack) {
  const auto done = differentiate_call(row("aten::add.Tensor"),
                                       {floats({2, 2}, {1, 2, 3, 4}), floats({1}, {5}), 2}, {},
                                       {floats({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(numbers(done.gradients[0]), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(numbers(done.gradients[1]), (Floats{20}));
}

TEST(Formulas, InPlaceRowsHaveTheirTwinsFormula) {
  const auto done =
      differentiate_call(row("aten::mul_.Tensor"), {floats({2}, {2, 3}), floats({2}, {5, 7})}, {},
                         {floats({2}, {1, 1})});
  EXPECT_EQ(numbers(done.gradients[1]), (Floats{2, 3}));
}

TEST(Formulas, ANumberThatIsItsOwnNextOnePassesNothingBack) {
  const auto done =
      differentiate_call(row("aten::nextafter"), {floats({3}, {1, 1, 2}), floats({3}, {1, 2, 1})},
                         {}, {floats({3}, {3, 5, 7})});
  EXPECT_EQ(numbers(done.gradients[0]), (Floats{0, 5, 7}));
}

TEST(Formulas, UndefinedCotangentsGiveUndefinedGradients) {
  const auto done = differentiate_call(row("aten::mul.Tensor"),
                                       {floats({1}, {2}), floats({1}, {5})}, {}, {IValue()});
  EXPECT_TRUE(done.gradients[0].is_none());
}

TEST(Formulas, EveryNameBelongsToARow) {
  for (const ops::DerivativeRow* row : ops::all_derivative_rows()) {
    EXPECT_NE(ops::OpTable::instance().find(row->name), nullptr) << row->name;
  }
}

TEST(Formulas, MissingOnesAreNamed) {
  try {
    differentiate_call(row("aten::heaviside"), {floats({1}, {2}), floats({1}, {5})}, {},
                       {floats({1}, {1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "derivative for aten::heaviside is not implemented");
  }
}

}  // namespace
}  // namespace tierup::autodiff
