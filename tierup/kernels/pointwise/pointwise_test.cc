#include "tierup/kernels/pointwise/pointwise.h"

#include <gtest/gtest.h>

#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/pointwise/pointwise_ops.h"

namespace tierup::kernels {
namespace {

template <typename T>
Tensor make(std::initializer_list<int64_t> sizes, std::initializer_list<double> values) {
  const std::vector<int64_t> shape(sizes);
  Tensor t = Tensor::empty(shape, kDTypeOf<T>);
  T* out = t.data<T>();
  for (const double v : values) *out++ = static_cast<T>(v);
  return t;
}

TEST(Pointwise, PromotesMixedOperandsWithoutTemporaries) {
  const Tensor ints = make<int32_t>({3}, {1, 2, 3});
  const Tensor halves = make<Half>({3}, {0.5, 1.5, 2.5});
  const Tensor sum = pointwise({Body::kAdd}, {ints, halves});
  EXPECT_EQ(sum.dtype(), ScalarType::kHalf);
  EXPECT_EQ(static_cast<float>(sum.data<Half>()[2]), 5.5F);
  const Tensor quotient = pointwise({Body::kDiv, Promote::kFloating}, {ints, Operand(Scalar(2))});
  EXPECT_EQ(quotient.data<float>()[0], 0.5F);
}

// The square of the largest number of each width: 2^(2n) - 2^(n + 1) + 1.
TEST(Pointwise, WrapsIntegersOfEachWidth) {
  const auto square_of = [](const Tensor& x) { return pointwise({Body::kMul}, {x, x}); };
  EXPECT_EQ(*square_of(make<uint8_t>({1}, {255})).data<uint8_t>(), 1);
  EXPECT_EQ(*square_of(make<int8_t>({1}, {127})).data<int8_t>(), 1);
  EXPECT_EQ(*square_of(make<int16_t>({1}, {-1})).data<int16_t>(), 1);
  EXPECT_EQ(*square_of(make<int16_t>({1}, {32767})).data<int16_t>(), 1);
  EXPECT_EQ(*square_of(make<int32_t>({1}, {2147483647})).data<int32_t>(), 1);
}

TEST(Pointwise, BroadcastsRowsAndColumns) {
  const Tensor row = make<float>({3}, {1, 2, 3});
  const Tensor column = make<float>({2, 1}, {10, 20});
  const Tensor sum = pointwise({Body::kAdd}, {row, column});
  ASSERT_EQ(sum.numel(), 6);
  EXPECT_EQ(sum.data<float>()[5], 23.0F);
}

TEST(Pointwise, RoundsNumbersToTheNarrowTypeWhenComparing) {
  const Tensor halves = make<Half>({1}, {0.1});
  const Tensor same = pointwise({Body::kEq}, {halves, Operand(Scalar(0.1))});
  EXPECT_TRUE(same.data<bool>()[0]);
}

TEST(Pointwise, WritesIntoItsOwnOperand) {
  const Tensor t = make<float>({2}, {1, 2});
  const uint32_t version = t.version();
  pointwise_into(t, {Body::kMul}, {t, Operand(Scalar(3.0))});
  EXPECT_EQ(t.data<float>()[1], 6.0F);
  EXPECT_EQ(t.version(), version + 1);
}

TEST(Pointwise, RefusesResultsThatDoNotFitTheWrittenTensor) {
  const Tensor ints = make<int64_t>({2}, {1, 2});
  EXPECT_THROW(pointwise_into(ints, {Body::kDiv, Promote::kFloating}, {ints, Operand(Scalar(2))}),
               Error);
  const Tensor wide = make<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_THROW(pointwise_into(ints, {Body::kAdd}, {ints, wide}), Error);
  const Tensor single = make<float>({1}, {1});
  const std::vector<int64_t> sizes{3};
  const Tensor expanded = expand_to(single, sizes);
  EXPECT_THROW(pointwise_into(expanded, {Body::kAdd}, {expanded, Operand(Scalar(1))}), Error);
}

TEST(Pointwise, DividesIntegersAsPython) {
  const Tensor a = make<int64_t>({4}, {7, -7, 7, -7});
  const Tensor b = make<int64_t>({4}, {2, 2, -2, -2});
  const Tensor floored = evaluate(div_mode(a, b, "floor"));
  const Tensor rest = pointwise({Body::kRemainder}, {a, b});
  const std::vector<int64_t> want_floored{3, -4, -4, 3};
  const std::vector<int64_t> want_rest{1, 1, -1, -1};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(floored.data<int64_t>()[i], want_floored[i]);
    EXPECT_EQ(rest.data<int64_t>()[i], want_rest[i]);
  }
  EXPECT_THROW(pointwise({Body::kRemainder}, {a, Operand(Scalar(0))}), Error);
  const Tensor lowest = make<int64_t>({1}, {0});
  fill(lowest, Scalar(INT64_MIN));
  EXPECT_EQ(evaluate(div_mode(lowest, Scalar(-1), "trunc")).data<int64_t>()[0], INT64_MIN);
}

TEST(Pointwise, NamesTheDtypeThatABodyDoesNotTake) {
  const Tensor flags = make<bool>({1}, {1});
  try {
    evaluate(gelu(flags, "none"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("not implemented for 'Bool'"), std::string::npos);
  }
}

TEST(Pointwise, KeepsNansInClampAndMaximum) {
  const Tensor t = make<float>({3}, {NAN, -5, 5});
  const Tensor clamped = evaluate(clamp(t, Operand(Scalar(-1)), Operand(Scalar(1))));
  EXPECT_TRUE(std::isnan(clamped.data<float>()[0]));
  EXPECT_EQ(clamped.data<float>()[1], -1.0F);
  EXPECT_EQ(clamped.data<float>()[2], 1.0F);
}

}  // namespace
}  // namespace tierup::kernels
