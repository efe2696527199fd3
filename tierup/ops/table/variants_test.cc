// In-place and out= rows, and the lazy bits on their way into kernels.
#include "tierup/ops/table/variants.h"

#include <gtest/gtest.h>

#include <vector>

#include "tierup/ops/table/row_call_fixture.h"

namespace tierup::ops {
namespace {

using testing::call_row;
using testing::filled;

TEST(Variants, InplaceReturnsTheWrittenTensorAndCountsTheWrite) {
  const Tensor t = filled({2}, 3);
  const uint32_t version = t.version();
  const Tensor result = call_row("aten::add_.Tensor", {t, filled({2}, 1), IValue(2)}).to_tensor();
  EXPECT_TRUE(result.is_same(t));
  EXPECT_EQ(t.data<float>()[1], 5.0F);
  EXPECT_GT(t.version(), version);
}

TEST(Variants, InplaceRefusesAShapeThatWouldGrow) {
  EXPECT_THROW(call_row("aten::mul_.Tensor", {filled({2}, 1), filled({3, 2}, 1)}), Error);
  EXPECT_THROW(call_row("aten::relu_", {IValue()}), Error);
}

TEST(Variants, OutIsResizedAndReturned) {
  const Tensor out = filled({1}, 0);
  const Tensor result = call_row("aten::exp.out", {filled({2, 3}, 0), out}).to_tensor();
  EXPECT_TRUE(result.is_same(out));
  ASSERT_EQ(out.numel(), 6);
  EXPECT_EQ(out.data<float>()[5], 1.0F);
}

TEST(Variants, OutRefusesADtypeThatCannotHoldTheResult) {
  const Tensor whole = Tensor::empty(std::vector<int64_t>{2}, ScalarType::kLong);
  EXPECT_THROW(call_row("aten::exp.out", {filled({2}, 0), whole}), Error);
}

TEST(Variants, LazyNegationIsResolvedBeforeAndRespectedAfterAWrite) {
  const Tensor t = filled({2}, 2);
  const Tensor negated = call_row("aten::_neg_view", {t}).to_tensor();
  const Tensor sum = call_row("aten::add.Tensor", {negated, filled({2}, 1), IValue(1)}).to_tensor();
  EXPECT_EQ(sum.data<float>()[0], -1.0F);
  call_row("aten::add_.Tensor", {negated, filled({2}, 1), IValue(1)});
  EXPECT_EQ(t.data<float>()[0], 1.0F);  // -2 + 1, stored negated.
}

}  // namespace
}  // namespace tierup::ops
