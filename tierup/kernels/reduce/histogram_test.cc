#include "tierup/kernels/reduce/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"

namespace tierup::kernels {
namespace {

TEST(Bincount, CountsOnAnyNumberOfThreads) {
  Tensor x = Tensor::empty(IntVector{100003}, ScalarType::kLong);
  std::vector<int64_t> wanted(50, 0);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t value = i * 7919 % 37;
    x.data<int64_t>()[i] = value;
    ++wanted[value];
  }
  for (const int threads : {1, 2, 3}) {
    const ThreadCountScope scope(threads);
    const Tensor counts = bincount(x, {}, 50);
    ASSERT_EQ(counts.numel(), 50);
    for (int64_t i = 0; i < 50; ++i) ASSERT_EQ(counts.data<int64_t>()[i], wanted[i]) << i;
    EXPECT_EQ(bincount(x, {}, 100000).numel(), 100000);
    EXPECT_EQ(bincount(x, {}, 100000).data<int64_t>()[36], wanted[36]);
    x.data<int64_t>()[100002] = -1;
    EXPECT_THROW(bincount(x, {}, 50), Error);
    x.data<int64_t>()[100002] = 100002 * 7919 % 37;
  }
}

// Even, uneven and repeated edges, and such as are infinitely far apart: a number counts where the
// last edge that is not above it begins.
TEST(Histogram, CountsBetweenWhateverEdges) {
  const std::vector<std::vector<float>> all = {
      {0, 1, 2, 3, 4, 5, 6, 7},
      {0, 0.001F, 0.002F, 0.003F, 0.004F, 0.005F, 0.006F, 9},
      {0, 8, 8.1F, 8.2F, 8.3F, 8.4F, 8.5F, 9},
      {0, 2, 2, 2, 2, 2, 2, 9},
      {3, 3, 3},
      {-3e38F, 0, 1, 2, 3e38F}};
  Tensor x = Tensor::empty(IntVector{2000}, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = static_cast<float>(i * 7919 % 1100) / 100 - 1;
  for (const std::vector<float>& edges : all) {
    const auto bins = static_cast<int64_t>(edges.size()) - 1;
    Tensor given = Tensor::empty(IntVector{bins + 1}, ScalarType::kFloat);
    std::copy(edges.begin(), edges.end(), given.data<float>());
    std::vector<float> wanted(static_cast<size_t>(bins), 0);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const float value = x.data<float>()[i];
      if (value < edges.front() || value > edges.back()) continue;
      const auto above = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();
      ++wanted[static_cast<size_t>(std::min<int64_t>(above - 1, bins - 1))];
    }
    const Tensor found = std::get<0>(histogram_edges(x, given, {}, false));
    for (int64_t i = 0; i < bins; ++i) EXPECT_EQ(found.data<float>()[i], wanted[i]) << i;
  }
}

}  // namespace
}  // namespace tierup::kernels
