#include "tierup/kernels/shape/padding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tierup::kernels {
namespace {

bool same(const LineRun& a, const LineRun& b) {
  return a.to == b.to && a.from == b.from && a.count == b.count;
}

TEST(Padding, RunsOfABorderAreThoseOfItsSourcesOneByOne) {
  for (const Border border : {Border::kReflect, Border::kReplicate, Border::kCircular}) {
    for (const int64_t size : {1, 2, 5, 9}) {
      for (int64_t before = -3; before <= 4; ++before) {
        for (int64_t after = -3; after <= 4; ++after) {
          const bool reflects = border == Border::kReflect && std::max(before, after) >= size;
          const bool wraps = border == Border::kCircular && std::max(before, after) > size;
          const int64_t cut = std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
          if (reflects || wraps || size + before + after < 1 || size + cut < 1) continue;
          const auto runs = border_runs(border, size, before, after);
          const auto expected = line_runs(border_sources(border, size, before, after));
          EXPECT_TRUE(std::equal(runs.begin(), runs.end(), expected.begin(), expected.end(), same))
              << static_cast<int>(border) << ": " << size << ", " << before << ", " << after;
        }
      }
    }
  }
}

TEST(Padding, OfNegativeWidthsCutsOff) {
  const Tensor x = Tensor::empty(IntVector{5, 7}, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor cut = constant_pad_nd(x, {-2, -1, -1, 0}, Scalar(9.0));
  ASSERT_EQ(cut.numel(), 16);
  for (int64_t i = 0; i < cut.numel(); ++i)
    EXPECT_EQ(cut.data<float>()[i], static_cast<float>((i / 4 + 1) * 7 + i % 4 + 2));
  const Tensor moved = constant_pad_nd(x, {2, -2}, Scalar(9.0));
  EXPECT_EQ(moved.data<float>()[1], 9.0F);
  EXPECT_EQ(moved.data<float>()[6], 4.0F);
}

}  // namespace
}  // namespace tierup::kernels
