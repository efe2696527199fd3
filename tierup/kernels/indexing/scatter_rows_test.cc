#include "tierup/kernels/indexing/scatter_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels {
namespace {

Tensor indices(const std::vector<int64_t>& values, int64_t width) {
  Tensor index =
      Tensor::empty(IntVector{static_cast<int64_t>(values.size()), 1}, ScalarType::kLong);
  std::copy(values.begin(), values.end(), index.data<int64_t>());
  return expand_to(index, IntVector{static_cast<int64_t>(values.size()), width});
}

Tensor scattered(const Tensor& start, const Tensor& index, const Tensor& src, ScatterMode mode,
                 bool include_self) {
  Tensor result = clone(start);
  scatter_lanes(result, 0, index, src, mode, include_self);
  return result;
}

class ScatterRowsOn : public OnInstructionSet {};
INSTANTIATE_TEST_SUITE_P(EachInstructionSet, ScatterRowsOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

// An index tensor that is written out goes by lanes.
TEST_P(ScatterRowsOn, GivesWhatLanesGive) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kLong, ScalarType::kBFloat16}) {
    for (const int64_t width : {1, 2, 5, 16, 33, 130}) {
      const Tensor start = to_dtype(counted({5, width}), type);
      const Tensor src = to_dtype(counted({7, width}), type);
      const Tensor index = indices({4, 0, 4, 2, 2, 2, 0}, width);
      const Tensor written_out = clone(index, MemoryFormat::kContiguous);
      ASSERT_EQ(scatters_rows(start, 0, written_out, src), width == 1);
      ASSERT_TRUE(scatters_rows(start, 0, index, src));
      for (const ScatterMode mode : {ScatterMode::kAssign, ScatterMode::kSum, ScatterMode::kProd,
                                     ScatterMode::kMean, ScatterMode::kAmax, ScatterMode::kAmin}) {
        for (const bool include_self : {true, false}) {
          const Tensor expected = scattered(start, written_out, src, mode, include_self);
          const Tensor result = scattered(start, index, src, mode, include_self);
          const auto wanted = values_of<float>(to_dtype(expected, ScalarType::kFloat));
          ASSERT_EQ(values_of<float>(to_dtype(result, ScalarType::kFloat)), wanted)
              << width << " " << static_cast<int>(mode) << include_self;
        }
      }
    }
  }
}

// Threads share lines of rows, or the targets.
TEST_P(ScatterRowsOn, SumsInTheOrderOfTheIndexOnAnyNumberOfThreads) {
  for (const int64_t width : {32, 33, 512, 4096}) {
    const int64_t rows = 4 * kNumbersForThread / width;
    std::vector<int64_t> at;
    for (int64_t i = 0; i < rows; ++i) at.push_back(i * i % 7);
    const Tensor index = indices(at, width);
    const Tensor src = counted({rows, width});
    const Tensor start = counted({8, width});
    std::vector<float> wanted = values_of<float>(start);
    for (int64_t i = 0; i < src.numel(); ++i)
      wanted[at[i / width] * width + i % width] += src.data<float>()[i];
    for (const int threads : {1, 2, 3, 4}) {
      const ThreadCountScope scope(threads);
      EXPECT_EQ(values_of<float>(scattered(start, index, src, ScatterMode::kSum, true)), wanted)
          << width << " " << threads;
    }
  }
}

TEST(ScatterRows, MeansOfVectorsAreThoseOfTheirValues) {
  const Tensor index = make_tensor<int64_t>({4}, {2, 0, 2, 2});
  const Tensor src = make_tensor<float>({4}, {1, 5, 2, 6});
  const Tensor start = make_tensor<float>({3}, {7, 8, 9});
  EXPECT_EQ(values_of<float>(scattered(start, index, src, ScatterMode::kMean, false)),
            (std::vector<float>{5, 8, 3}));
  EXPECT_EQ(values_of<float>(scattered(start, index, src, ScatterMode::kMean, true)),
            (std::vector<float>{6, 8, 4.5F}));
}

TEST(ScatterRows, LeavesOtherFormsToLanes) {
  const Tensor src = counted({3, 16});
  EXPECT_FALSE(scatters_rows(counted({3, 16}), 1, indices({0, 1, 2}, 16), src));
  EXPECT_FALSE(combine_wide_rows(counted({4, 2}), indices({0, 1, 2}, 2), counted({3, 2}),
                                 ScatterMode::kSum));
  EXPECT_FALSE(
      combine_wide_rows(counted({4, 16}), indices({0, 1, 2}, 16), src, ScatterMode::kProd));
}

TEST(ScatterRows, RefusesIndicesOutOfBoundsBeforeItWrites) {
  Tensor target = counted({4, 16});
  const Tensor before = clone(target);
  EXPECT_THROW(
      scatter_lanes(target, 0, indices({0, 4}, 16), counted({2, 16}), ScatterMode::kSum, true),
      Error);
  for (int64_t i = 0; i < target.numel(); ++i)
    EXPECT_EQ(target.data<float>()[i], before.data<float>()[i]);
}

// The few first of a long lane, with ties and NaN, are those of a sort of all.
TEST(Topk, OfFewAmongManyIsTheHeadOfTheWholeOrder) {
  constexpr int64_t kCount = 5000;
  Tensor lane = Tensor::empty(IntVector{kCount}, ScalarType::kFloat);
  for (int64_t i = 0; i < kCount; ++i)
    lane.data<float>()[i] = static_cast<float>((i * 7919) % 613) - 300.0F;
  lane.data<float>()[4321] = NAN;
  lane.data<float>()[77] = INFINITY;
  for (const bool largest : {true, false}) {
    const Tensor sorted = std::get<0>(sort(lane, 0, largest));
    const auto [values, at] = topk(lane, 50, 0, largest, true);
    for (int64_t i = 0; i < 50; ++i) {
      const float value = values.data<float>()[i];
      const float expected = sorted.data<float>()[i];
      EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << i;
      const float there = lane.data<float>()[at.data<int64_t>()[i]];
      EXPECT_TRUE(there == value || (std::isnan(there) && std::isnan(value))) << i;
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
