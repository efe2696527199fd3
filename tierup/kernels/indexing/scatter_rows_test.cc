#include "tierup/kernels/indexing/scatter_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/base/error.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor indices(const std::vector<int64_t>& values, int64_t width) {
  Tensor index =
      Tensor::empty(IntVector{static_cast<int64_t>(values.size()), 1}, ScalarType::kLong);
  std::copy(values.begin(), values.end(), index.data<int64_t>());
  return expand_to(index, IntVector{static_cast<int64_t>(values.size()), width});
}

// The same by lanes of an index tensor that is written out.
Tensor by_lanes(const Tensor& start, const Tensor& index, const Tensor& src, ScatterMode mode) {
  Tensor result = clone(start);
  scatter_lanes(result, 0, clone(index, MemoryFormat::kContiguous), src, mode, true);
  return result;
}

TEST(ScatterRows, GivesWhatLanesGive) {
  for (const int64_t width : {16, 33, 130}) {
    const Tensor start = counted({5, width});
    const Tensor src = counted({7, width});
    const Tensor index = indices({4, 0, 4, 2, 2, 2, 0}, width);
    for (const ScatterMode mode : {ScatterMode::kSum, ScatterMode::kAmax, ScatterMode::kAmin}) {
      const Tensor expected = by_lanes(start, index, src, mode);
      Tensor result = clone(start);
      ASSERT_TRUE(scatter_rows(result, 0, index, src, mode));
      for (int64_t i = 0; i < result.numel(); ++i)
        ASSERT_EQ(result.data<float>()[i], expected.data<float>()[i]) << i;
    }
  }
}

TEST(ScatterRows, LeavesNarrowRowsAndOtherFormsToLanes) {
  const Tensor src = counted({3, 16});
  EXPECT_FALSE(
      scatter_rows(counted({4, 2}), 0, indices({0, 1, 2}, 2), counted({3, 2}), ScatterMode::kSum));
  EXPECT_FALSE(scatter_rows(counted({4, 16}), 0, indices({0, 1, 2}, 16), src, ScatterMode::kProd));
  EXPECT_FALSE(scatter_rows(counted({3, 16}), 1, indices({0, 1, 2}, 16), src, ScatterMode::kSum));
}

TEST(ScatterRows, RefusesIndicesOutOfBoundsBeforeItWrites) {
  Tensor target = counted({4, 16});
  const Tensor before = clone(target);
  EXPECT_THROW(scatter_rows(target, 0, indices({0, 4}, 16), counted({2, 16}), ScatterMode::kSum),
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
