#include "tierup/kernels/convolution/transposed_tiles.h"

#include <gtest/gtest.h>

#include <vector>

#include "tierup/kernels/convolution/convolution.h"
#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/guarded_fixture.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels {
namespace {

class TransposedTilesOn : public OnInstructionSet {};

// Small whole numbers: all sums are exact.
Tensor whole_numbers(const IntVector& sizes, ScalarType dtype, int64_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kLong);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<int64_t>()[i] = (i * 7 + seed) % 11 - 5;
  return to_dtype(result, dtype);
}

TEST_P(TransposedTilesOn, FloatsGiveWhatDoublesGive) {
  struct Sizes {
    IntVector input, weight, step;
    int64_t groups;
  };
  const std::vector<Sizes> all{
      {{1, 3, 4, 40}, {3, 5, 2, 2}, {2, 2}, 1},         {{2, 4, 3, 1}, {4, 3, 2, 2}, {2, 2}, 2},
      {{2, 6, 5, 17}, {6, 1, 3, 2}, {3, 2}, 3},         {{1, 2, 3, 33}, {2, 3, 1, 4}, {1, 4}, 1},
      {{1, 2, 7, 8}, {2, 4, 4, 1}, {4, 1}, 1},          {{3, 2, 19}, {2, 5, 2}, {2}, 1},
      {{1, 3, 2, 3, 9}, {3, 2, 2, 3, 2}, {2, 3, 2}, 1},
  };
  for (const Sizes& s : all) {
    SCOPED_TRACE(::testing::PrintToString(s.input) + ::testing::PrintToString(s.weight));
    ASSERT_TRUE(are_transposed_tiles(conv_geometry(s.input, s.weight, s.step, IntVector{0},
                                                   IntVector{1}, true, IntVector{0}, s.groups)));
    for (const bool has_bias : {false, true}) {
      const auto run = [&](ScalarType dtype) {
        const Tensor bias = has_bias ? whole_numbers({s.weight[1] * s.groups}, dtype, 2) : Tensor();
        return convolution(whole_numbers(s.input, dtype, 0), whole_numbers(s.weight, dtype, 1),
                           bias, s.step, {0}, {1}, true, {0}, s.groups);
      };
      EXPECT_EQ(values_of<double>(to_dtype(run(ScalarType::kFloat), ScalarType::kDouble)),
                values_of<double>(run(ScalarType::kDouble)));
    }
  }
}

TEST_P(TransposedTilesOn, WeavingTouchesNothingBehindRows) {
  GuardedFloats source;
  GuardedFloats target;
  for (const int64_t rows : {1, 2, 3}) {
    for (const int64_t width : {1, 4, 5, 8, 15, 16, 29}) {
      float* from = source.last(rows * width);
      float* to = target.last(rows * width);
      for (int64_t i = 0; i < rows * width; ++i) from[i] = static_cast<float>(i);
      plane_kernels().weave(from, width, rows, width, 0.5F, to);
      for (int64_t i = 0; i < rows * width; ++i)
        EXPECT_EQ(to[i], static_cast<float>(i % rows * width + i / rows) + 0.5F);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, TransposedTilesOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

TEST(TransposedTiles, AreWindowsSideBySide) {
  const auto are = [](const IntVector& step, const IntVector& padding, const IntVector& dilation,
                      const IntVector& more) {
    return are_transposed_tiles(conv_geometry(IntVector{1, 2, 5, 5}, IntVector{2, 2, 2, 2}, step,
                                              padding, dilation, true, more, 1));
  };
  EXPECT_TRUE(are({2}, {0}, {1}, {0}));
  EXPECT_FALSE(are({1}, {0}, {1}, {0}));
  EXPECT_FALSE(are({3}, {0}, {1}, {0}));
  EXPECT_FALSE(are({2}, {1}, {1}, {0}));
  EXPECT_FALSE(are({2}, {0}, {2}, {0}));
  EXPECT_FALSE(are({2}, {0}, {1}, {1}));
}

}  // namespace
}  // namespace tierup::kernels
