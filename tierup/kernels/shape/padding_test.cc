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

}  // namespace
}  // namespace tierup::kernels
