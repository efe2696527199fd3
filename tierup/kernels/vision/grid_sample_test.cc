// Samples of images of floats by vectors against those of doubles, which go point by point.
#include "tierup/kernels/vision/grid_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels {
namespace {

constexpr int64_t kModes = 3;
constexpr int64_t kPaddings = 3;

class GridSampleOn : public OnInstructionSet {};

void expect_near_doubles(const Tensor& image, const Tensor& grid) {
  for (int64_t which = 0; which < kModes * kPaddings * 2; ++which) {
    const int64_t mode = which % kModes;
    const int64_t padding = which / kModes % kPaddings;
    const bool corners = which >= kModes * kPaddings;
    const Tensor sampled = grid_sampler(image, grid, mode, padding, corners);
    const Tensor wanted = grid_sampler(to_dtype(image, ScalarType::kDouble),
                                       to_dtype(grid, ScalarType::kDouble), mode, padding, corners);
    for (int64_t i = 0; i < wanted.numel(); ++i) {
      const double found = sampled.data<float>()[i];
      if (std::isnan(found) && std::isnan(wanted.data<double>()[i])) continue;
      ASSERT_NEAR(found, wanted.data<double>()[i], 1e-2)
          << "mode " << mode << ", padding " << padding << ", corners " << corners << ", " << i;
    }
  }
}

Tensor image_of(int64_t height, int64_t width) {
  const Tensor image = Tensor::empty(IntVector{2, 3, height, width}, ScalarType::kFloat);
  for (int64_t i = 0; i < image.numel(); ++i)
    image.data<float>()[i] = static_cast<float>(i * 37 % 101);
  return image;
}

// `points` of places as far as `reach` from the middle, where the rim is at one.
Tensor grid_of(int64_t points, float reach) {
  const Tensor grid = Tensor::empty(IntVector{2, 5, points, 2}, ScalarType::kFloat);
  for (int64_t i = 0; i < grid.numel(); ++i)
    grid.data<float>()[i] = (static_cast<float>(i * 29 % 61) / 30.03F - 1) * reach;
  return grid;
}

// Images down to one point wide. A far place is folded back many times.
TEST_P(GridSampleOn, FloatsComeNearDoubles) {
  for (const int64_t height : {1, 2, 5, 9}) {
    for (const int64_t width : {1, 2, 7, 20}) {
      SCOPED_TRACE(testing::Message() << height << " x " << width);
      for (const float reach : {0.3F, 1.25F, 7.3F})
        expect_near_doubles(image_of(height, width), grid_of(9, reach));
    }
  }
}

TEST_P(GridSampleOn, RimsAndWhatIsNoPlace) {
  const Tensor grid = grid_of(7, 1.1F);
  float* at = grid.data<float>();
  at[3] = NAN;
  at[20] = -1;
  at[23] = 1;
  at[30] = 1e30F;
  at[33] = -1e30F;
  at[64] = INFINITY;
  for (const int64_t mode : {0, 1, 2}) {
    const Tensor sampled = grid_sampler(image_of(5, 7), grid, mode, 0, false);
    const Tensor wanted = grid_sampler(to_dtype(image_of(5, 7), ScalarType::kDouble),
                                       to_dtype(grid, ScalarType::kDouble), mode, 0, false);
    for (int64_t i = 0; i < wanted.numel(); ++i)
      ASSERT_NEAR(sampled.data<float>()[i], wanted.data<double>()[i], 1e-3) << mode << ", " << i;
  }
}

// What is not read must not reach a sum as zero times infinity.
TEST_P(GridSampleOn, NumbersOutsideAreNotRead) {
  const Tensor image = image_of(4, 4);
  for (int64_t i = 0; i < image.numel(); i += 4)
    image.data<float>()[i] = std::numeric_limits<float>::infinity();
  const Tensor grid = grid_of(9, 3.0F);
  for (int64_t i = 0; i < grid.numel(); i += 2) grid.data<float>()[i] = 3;
  for (const int64_t mode : {0, 1, 2}) {
    const Tensor sampled = grid_sampler(image, grid, mode, 0, false);
    for (int64_t i = 0; i < sampled.numel(); ++i) ASSERT_EQ(sampled.data<float>()[i], 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, GridSampleOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels
