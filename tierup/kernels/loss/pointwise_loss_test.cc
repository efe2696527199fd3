// Losses of narrow dtypes: which of their steps are numbers of the dtype.
#include "tierup/kernels/loss/pointwise_loss.h"

#include <gtest/gtest.h>

namespace tierup::kernels {
namespace {

template <typename T>
Tensor single(float value) {
  const Tensor t = Tensor::empty(IntVector{1}, kDTypeOf<T>);
  *t.data<T>() = static_cast<T>(value);
  return t;
}

// 1 + 2^-7 - 2^-8 is half-way between two numbers of bf16, and 1 is the even one.
TEST(MseLoss, SquaresADifferenceOfTheDtype) {
  const float above = 1.0F + 0x1p-7F;
  const float below = 0x1p-8F;
  const Tensor narrow = mse_loss(single<BFloat16>(above), single<BFloat16>(below), 0);
  EXPECT_EQ(narrow.dtype(), ScalarType::kBFloat16);
  EXPECT_EQ(static_cast<float>(*narrow.data<BFloat16>()), 1.0F);
  const Tensor wide = mse_loss(single<float>(above), single<float>(below), 0);
  EXPECT_EQ(*wide.data<float>(), (above - below) * (above - below));
  const Tensor half = mse_loss(single<Half>(1.0F + 0x1p-10F), single<Half>(0x1p-11F), 0);
  EXPECT_EQ(static_cast<float>(*half.data<Half>()), 1.0F);
}

}  // namespace
}  // namespace tierup::kernels
