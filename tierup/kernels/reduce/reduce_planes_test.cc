// Sums over the batch and small planes, as gradients of biases are.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_sum.h"

namespace tierup::kernels {
namespace {

Tensor waves(const IntVector& sizes) {
  const Tensor x = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data<float>()[i] = 0.4F + 1.0F / static_cast<float>(1 + i * 37 % 977);
  return x;
}

class Planes : public ::testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(Planes, AreAddedUpForEachChannelByAnyNumberOfThreads) {
  const auto& p = GetParam();
  const Tensor x = waves({p[0], p[1], p[2], p[3]});
  const int64_t points = p[2] * p[3];
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    const ThreadCountScope scope(threads);
    const Tensor total = sum(x, IntVector{0, 2, 3}, false, std::nullopt);
    results.emplace_back(total.data<float>(), total.data<float>() + p[1]);
  }
  EXPECT_EQ(results[0], results[1]);
  for (int64_t channel = 0; channel < p[1]; ++channel) {
    double exact = 0;
    for (int64_t n = 0; n < p[0]; ++n) {
      const float* plane = x.data<float>() + (n * p[1] + channel) * points;
      for (int64_t i = 0; i < points; ++i) exact += plane[i];
    }
    EXPECT_NEAR(results[0][static_cast<size_t>(channel)], exact, exact * 3e-7) << channel;
  }
}

TEST_P(Planes, HaveTheirExtremaFoundForEachChannel) {
  const auto& p = GetParam();
  const Tensor x = waves({p[0], p[1], p[2], p[3]});
  const Tensor most = amax(x, IntVector{0, 2, 3}, false);
  const Tensor least = amin(x, IntVector{0, 2, 3}, false);
  const int64_t points = p[2] * p[3];
  for (int64_t channel = 0; channel < p[1]; ++channel) {
    float high = -1;
    float low = 2;
    for (int64_t i = 0; i < p[0] * points; ++i) {
      const float found = x.data<float>()[(i / points * p[1] + channel) * points + i % points];
      high = std::max(high, found);
      low = std::min(low, found);
    }
    EXPECT_EQ(most.data<float>()[channel], high) << channel;
    EXPECT_EQ(least.data<float>()[channel], low) << channel;
  }
}

// Lines of neighbouring results, of rows in two dimensions: whole tiles and what is left.
TEST_P(Planes, AreAddedUpForEachColumnOfEachChannel) {
  const auto& p = GetParam();
  const Tensor x = waves({p[0], p[1], p[2], p[3]});
  const Tensor total = sum(x, IntVector{0, 2}, false, std::nullopt);
  const Tensor most = amax(x, IntVector{0, 2}, false);
  for (int64_t o = 0; o < p[1] * p[3]; ++o) {
    double exact = 0;
    float high = -1;
    for (int64_t r = 0; r < p[0] * p[2]; ++r) {
      const int64_t row = (r / p[2] * p[1] + o / p[3]) * p[2] + r % p[2];
      const float found = x.data<float>()[row * p[3] + o % p[3]];
      exact += found;
      high = std::max(high, found);
    }
    ASSERT_NEAR(total.data<float>()[o], exact, exact * 3e-7) << o;
    ASSERT_EQ(most.data<float>()[o], high) << o;
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfSizes, Planes,
    testing::Values(std::vector<int64_t>{32, 24, 8, 8}, std::vector<int64_t>{70, 3, 7, 7},
                    std::vector<int64_t>{33, 5, 1, 1}, std::vector<int64_t>{3, 5, 8, 8},
                    std::vector<int64_t>{40, 2, 5, 13}, std::vector<int64_t>{5000, 2, 4, 4},
                    std::vector<int64_t>{9, 3, 50, 133}));

}  // namespace
}  // namespace tierup::kernels
