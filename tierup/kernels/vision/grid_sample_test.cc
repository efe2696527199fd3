#include "tierup/kernels/vision/grid_sample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

// Places inside, outside, on the rim and not numbers; images down to one point wide.
TEST(GridSample, OfFloatsGivesWhatDoublesGive) {
  for (const int64_t height : {1, 2, 5}) {
    for (const int64_t width : {1, 2, 7}) {
      for (const int64_t padding : {0, 1, 2}) {
        const Tensor image = Tensor::empty(IntVector{2, 3, height, width}, ScalarType::kFloat);
        const Tensor grid = Tensor::empty(IntVector{2, 5, 7, 2}, ScalarType::kFloat);
        for (int64_t i = 0; i < image.numel(); ++i)
          image.data<float>()[i] = static_cast<float>(i * 37 % 101);
        for (int64_t i = 0; i < grid.numel(); ++i)
          grid.data<float>()[i] = static_cast<float>(i * 29 % 61) / 24.0F - 1.25F;
        grid.data<float>()[3] = NAN;
        grid.data<float>()[20] = -1;
        grid.data<float>()[23] = 1;
        const Tensor sampled = grid_sampler(image, grid, 0, padding, false);
        const Tensor wanted = grid_sampler(to_dtype(image, ScalarType::kDouble),
                                           to_dtype(grid, ScalarType::kDouble), 0, padding, false);
        for (int64_t i = 0; i < wanted.numel(); ++i) {
          EXPECT_NEAR(sampled.data<float>()[i], wanted.data<double>()[i], 1e-3)
              << height << " x " << width << ", padding " << padding << ", " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
