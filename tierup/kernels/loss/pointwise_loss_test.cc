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

TEST(ReduceLoss, SumsManyBlocks) {
  for (const int64_t count : {1, 17, 8192, 8193, 100'003}) {
    const Tensor losses = Tensor::empty(IntVector{count}, ScalarType::kFloat);
    for (int64_t i = 0; i < count; ++i)
      losses.data<float>()[i] = static_cast<float>(i % 1000) - 300;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(losses.data<float>()[i]);
    EXPECT_EQ(*reduce_loss(losses, 2).data<float>(), static_cast<float>(sum)) << count;
    EXPECT_EQ(*reduce_loss(losses, 1).data<float>(),
              static_cast<float>(sum / static_cast<double>(count)))
        << count;
  }
}

TEST(BinaryCrossEntropy, RefusesWhatIsNoProbability) {
  const Tensor half = single<float>(0.5F);
  EXPECT_NEAR(*binary_cross_entropy(half, half, {}, 0).data<float>(), 0.693147F, 1e-6F);
  EXPECT_EQ(*binary_cross_entropy(single<float>(0), single<float>(1), {}, 0).data<float>(), 100);
  EXPECT_THROW(binary_cross_entropy(single<float>(1.5F), half, {}, 0), Error);
  EXPECT_THROW(binary_cross_entropy(single<float>(-0.1F), half, {}, 0), Error);
  EXPECT_THROW(binary_cross_entropy(single<float>(NAN), half, {}, 0), Error);
}

}  // namespace
}  // namespace tierup::kernels
