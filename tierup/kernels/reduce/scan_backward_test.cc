#include "tierup/kernels/reduce/scan_backward.h"

#include <gtest/gtest.h>

#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Worked out by hand: what stands behind a zero changes nothing but the zero's own gradient.
TEST(CumprodGradients, OfLinesWithAndWithoutZeros) {
  const Tensor ones = make_tensor<float>({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor x = make_tensor<float>({2, 4}, {2, 0, 3, 0, 2, 3, -1, 4});
  const std::vector<float> wanted{1, 8, 0, 0, 1 + 3 - 3 - 12, 2 - 2 - 8, 6 + 24, -6};
  EXPECT_EQ(values_of<float>(cumprod_backward(ones, x, 1)), wanted);
  const Tensor across = cumprod_backward(transpose(ones, 0, 1), transpose(x, 0, 1), 0);
  EXPECT_EQ(values_of<float>(transpose(across, 0, 1)), wanted);
}

}  // namespace
}  // namespace tierup::kernels
