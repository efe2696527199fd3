#include "tierup/kernels/pooling/max_pool.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = static_cast<float>((i * 7919) % 1009) - 500.0F;
  }
  return result;
}

// The form without indices works on whole lines, the other window by window.
TEST(MaxPool, LinesGiveWhatWindowsGive) {
  for (const int64_t kernel : {1, 2, 3}) {
    for (const int64_t stride : {1, 2, 4}) {
      for (const int64_t dilation : {1, 2}) {
        for (const bool ceil_mode : {false, true}) {
          const Tensor x = numbers({2, 3, 11, 13});
          x.data<float>()[40] = std::nanf("");
          const IntVector padding{kernel / 2};
          const Tensor lines = max_pool<2>(x, {kernel}, {stride}, padding, {dilation}, ceil_mode);
          const Tensor windows = std::get<0>(
              max_pool_with_indices<2>(x, {kernel}, {stride}, padding, {dilation}, ceil_mode));
          ASSERT_EQ(shape_string(lines.sizes()), shape_string(windows.sizes()));
          for (int64_t i = 0; i < lines.numel(); ++i) {
            const float a = lines.data<float>()[i];
            const float b = windows.data<float>()[i];
            ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i;
          }
        }
      }
    }
  }
}

TEST(MaxPool, AHugeKernelNeedsNoMemory) {
  const int64_t huge = int64_t{1} << 30;
  const Tensor out = max_pool<2>(numbers({1, 1, 4, 4}), {huge, huge}, {huge, huge},
                                 {huge / 2, huge / 2}, {1, 1}, false);
  EXPECT_EQ(out.numel(), 1);
}

TEST(MaxPool, RefusesPaddingAboveHalfTheKernel) {
  EXPECT_THROW(max_pool<2>(numbers({1, 1, 4, 4}), {2}, {2}, {2}, {1}, false), Error);
  EXPECT_THROW(max_pool<2>(numbers({1, 1, 4, 4}), {6}, {1}, {0}, {1}, false), Error);
  EXPECT_THROW(max_unpool2d(numbers({1, 1, 1, 1}),
                            Tensor::scalar(Scalar(int64_t{99}))
                                .as_view(IntVector{1, 1, 1, 1}, IntVector{1, 1, 1, 1}, 0),
                            {2, 2}),
               Error);
}

}  // namespace
}  // namespace tierup::kernels
