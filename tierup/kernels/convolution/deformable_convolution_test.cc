#include "tierup/kernels/convolution/deformable_convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

// Numbers in steps of 1/64, from -span to span.
Tensor numbers(const IntVector& sizes, ScalarType dtype, int64_t span, int64_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kDouble);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data<double>()[i] = static_cast<double>((i * 7919 + seed) % (128 * span + 1)) / 64.0 -
                               static_cast<double>(span);
  return to_dtype(result, dtype);
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(shape_string(a.sizes()), shape_string(b.sizes()));
  const Tensor left = to_dtype(a, ScalarType::kDouble);
  const Tensor right = to_dtype(b, ScalarType::kDouble);
  for (int64_t i = 0; i < left.numel(); ++i)
    ASSERT_NEAR(left.data<double>()[i], right.data<double>()[i], 1e-3) << i;
}

Tensor convolve(ScalarType dtype, const DeformableOptions& o, const IntVector& out) {
  const int64_t planes = o.offset_groups * 6;
  return deform_conv2d(
      numbers({2, 4, 9, 11}, dtype, 2, 1), numbers({6, 4 / o.groups, 3, 2}, dtype, 1, 2),
      numbers({2, 2 * planes, out[0], out[1]}, dtype, 8, 3),
      numbers({2, planes, out[0], out[1]}, dtype, 1, 4), numbers({6}, dtype, 1, 5), o);
}

// Floats are sampled by vectors, doubles point by point. Offsets lead in and out of the image.
TEST(DeformableConvolution, VectorsSampleWhatPointsDo) {
  for (const int64_t groups : {1, 2}) {
    for (const int64_t offset_groups : {1, 2, 4}) {
      for (const bool use_mask : {false, true}) {
        const DeformableOptions near{1, 1, 1, 1, 1, 1, groups, offset_groups, use_mask};
        expect_near(convolve(ScalarType::kFloat, near, {9, 12}),
                    convolve(ScalarType::kDouble, near, {9, 12}));
        const DeformableOptions wide{2, 3, 0, 2, 2, 1, groups, offset_groups, use_mask};
        expect_near(convolve(ScalarType::kFloat, wide, {3, 5}),
                    convolve(ScalarType::kDouble, wide, {3, 5}));
      }
    }
  }
}

TEST(DeformableConvolution, NothingIsReadOutsideOfTheImage) {
  const Tensor image = Tensor::empty(IntVector{1, 1, 2, 2}, ScalarType::kFloat);
  fill(image, std::numeric_limits<double>::infinity());
  const Tensor one = Tensor::empty(IntVector{1, 1, 1, 1}, ScalarType::kFloat);
  fill(one, 1);
  const Tensor offset = Tensor::empty(IntVector{1, 2, 2, 2}, ScalarType::kFloat);
  const Tensor bias = Tensor::empty(IntVector{1}, ScalarType::kFloat);
  fill(bias, 0.5);
  for (const double far : {-2.5, 3.0, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    fill(offset, far);
    const Tensor out = deform_conv2d(image, one, offset, Tensor(), bias, {});
    for (int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(out.data<float>()[i], 0.5F) << far;
  }
}

}  // namespace
}  // namespace tierup::kernels
