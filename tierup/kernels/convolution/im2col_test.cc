#include "tierup/kernels/convolution/im2col.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor counted(const IntVector& sizes) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data<float>()[i] = static_cast<float>(i * 7 % 31) - 9.0F;
  return result;
}

void expect_same_numbers(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.numel(), b.numel());
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
}

// A sequence as a plane of one column goes through other loops than one of one line.
TEST(ImageToColumns, APlaneOfOneColumnGivesWhatOneOfOneLineDoes) {
  for (const int64_t step : {1, 2}) {
    const Tensor upright = im2col(counted({2, 3, 17, 1}), {5, 1}, {2, 1}, {3, 0}, {step, 1});
    const Tensor flat = im2col(counted({2, 3, 1, 17}), {1, 5}, {1, 2}, {0, 3}, {1, step});
    expect_same_numbers(upright, flat);
    expect_same_numbers(
        col2im(counted({2, 15, upright.size(2)}), {17, 1}, {5, 1}, {2, 1}, {3, 0}, {step, 1}),
        col2im(counted({2, 15, upright.size(2)}), {1, 17}, {1, 5}, {1, 2}, {0, 3}, {1, step}));
  }
}

}  // namespace
}  // namespace tierup::kernels
