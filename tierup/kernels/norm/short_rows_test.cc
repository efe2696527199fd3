// Rows of few numbers, which are worked on many at a time, against the definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tierup/kernels/norm/layer_norm.h"
#include "tierup/kernels/norm/softmax.h"

namespace tierup::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor rows_of(int64_t rows, int64_t size) {
  const Tensor result = Tensor::empty(IntVector{rows, size}, ScalarType::kFloat);
  for (int64_t i = 0; i < rows * size; ++i)
    result.data<float>()[i] = static_cast<float>(i * 7919 % 2003) / 100.0F - 10.0F;
  return result;
}

std::vector<double> row_of(const Tensor& x, int64_t row) {
  const float* data = x.data<float>() + row * x.size(1);
  return {data, data + x.size(1)};
}

double log_of_sum(const std::vector<double>& row) {
  double sum = 0;
  for (const double x : row) sum += std::exp(x);
  return std::log(sum);
}

constexpr int64_t kSizes[] = {2, 3, 5, 15, 16, 17, 33, 63, 64};

TEST(ShortRows, HaveTheSoftmaxOfTheDefinition) {
  for (const int64_t size : kSizes) {
    const Tensor x = rows_of(2 * size + 67, size);
    const Tensor share = softmax(x, 1, std::nullopt);
    const Tensor logs = log_softmax(x, 1, std::nullopt);
    const Tensor sums = logsumexp(x, {1}, false);
    for (int64_t r = 0; r < x.size(0); ++r) {
      const std::vector<double> row = row_of(x, r);
      const double sum = log_of_sum(row);
      EXPECT_NEAR(sums.data<float>()[r], sum, 2e-6 * std::max(1.0, std::abs(sum)));
      for (int64_t i = 0; i < size; ++i) {
        const double log = row[static_cast<size_t>(i)] - sum;
        EXPECT_NEAR(logs.data<float>()[r * size + i], log, 4e-6) << size << " " << r;
        EXPECT_NEAR(share.data<float>()[r * size + i], std::exp(log), 3e-7) << size << " " << r;
      }
    }
  }
}

TEST(ShortRows, WithInfinitiesOrNanKeepThemToThemselves) {
  const Tensor x = rows_of(70, 3);
  float* data = x.data<float>();
  for (int64_t i = 0; i < 3; ++i) data[3 * 5 + i] = -kInfinity;
  data[3 * 6] = kInfinity;
  data[3 * 7 + 2] = std::numeric_limits<float>::quiet_NaN();
  data[3 * 8 + 1] = -kInfinity;
  const Tensor share = softmax(x, 1, std::nullopt);
  const Tensor logs = log_softmax(x, 1, std::nullopt);
  const Tensor sums = logsumexp(x, {1}, false);
  for (const int64_t row : {5, 6, 7}) {
    EXPECT_TRUE(std::isnan(share.data<float>()[3 * row + 2])) << row;
    EXPECT_TRUE(std::isnan(logs.data<float>()[3 * row + 2])) << row;
  }
  EXPECT_EQ(sums.data<float>()[5], -kInfinity);
  EXPECT_EQ(sums.data<float>()[6], kInfinity);
  EXPECT_TRUE(std::isnan(sums.data<float>()[7]));
  EXPECT_EQ(share.data<float>()[3 * 8 + 1], 0.0F);
  EXPECT_EQ(logs.data<float>()[3 * 8 + 1], -kInfinity);
  for (int64_t r = 9; r < 70; ++r) EXPECT_TRUE(std::isfinite(sums.data<float>()[r])) << r;
}

TEST(ShortRows, HaveTheSoftmaxGradientOfTheDefinition) {
  for (const int64_t size : kSizes) {
    const Tensor x = rows_of(size + 67, size);
    const Tensor g = rows_of(size + 67, size);
    const Tensor share = softmax(x, 1, std::nullopt);
    const Tensor logs = log_softmax(x, 1, std::nullopt);
    const Tensor dx = softmax_backward(g, share, 1, ScalarType::kFloat);
    const Tensor dlogs = log_softmax_backward(g, logs, 1, ScalarType::kFloat);
    for (int64_t r = 0; r < x.size(0); ++r) {
      const std::vector<double> y = row_of(share, r);
      const std::vector<double> grad = row_of(g, r);
      double inner = 0;
      double total = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        inner += y[i] * grad[i];
        total += grad[i];
      }
      for (size_t i = 0; i < y.size(); ++i) {
        const auto at = r * size + static_cast<int64_t>(i);
        EXPECT_NEAR(dx.data<float>()[at], (grad[i] - inner) * y[i], 1e-5) << size << " " << r;
        EXPECT_NEAR(dlogs.data<float>()[at], grad[i] - total * y[i], 1e-3) << size << " " << r;
      }
    }
  }
}

TEST(ShortRows, HaveTheLayerNormOfTheDefinition) {
  for (const int64_t size : kSizes) {
    const Tensor x = rows_of(size + 67, size);
    const Tensor gamma = rows_of(1, size).as_view(IntVector{size}, IntVector{1}, 0);
    const Tensor beta = rows_of(2, size).as_view(IntVector{size}, IntVector{1}, size);
    for (const bool has_weights : {true, false}) {
      const auto [y, mean, rstd] = native_layer_norm(x, {size}, has_weights ? gamma : Tensor(),
                                                     has_weights ? beta : Tensor(), 1e-3);
      for (int64_t r = 0; r < x.size(0); ++r) {
        const std::vector<double> row = row_of(x, r);
        double center = 0;
        double variance = 0;
        for (const double v : row) center += v / static_cast<double>(size);
        for (const double v : row) variance += (v - center) * (v - center);
        const double scale = 1 / std::sqrt(variance / static_cast<double>(size) + 1e-3);
        EXPECT_NEAR(mean.data<float>()[r], center, 1e-5);
        EXPECT_NEAR(rstd.data<float>()[r], scale, 1e-5 * scale);
        for (int64_t i = 0; i < size; ++i) {
          const double normal = (row[static_cast<size_t>(i)] - center) * scale;
          const double wanted =
              has_weights ? normal * gamma.data<float>()[i] + beta.data<float>()[i] : normal;
          EXPECT_NEAR(y.data<float>()[r * size + i], wanted, 2e-4) << size << " " << r << " " << i;
        }
      }
    }
  }
}

// Channels of one or a few numbers, with and without factors.
TEST(ShortRows, HaveTheGroupNormOfTheDefinition) {
  const int64_t channels = 6;
  for (const int64_t points : {1, 3, 20}) {
    const Tensor flat = rows_of(5, channels * points);
    const Tensor x =
        flat.as_view(IntVector{5, channels, points}, IntVector{channels * points, points, 1}, 0);
    const Tensor gamma = rows_of(1, channels).as_view(IntVector{channels}, IntVector{1}, 0);
    for (const bool has_factors : {false, true}) {
      const Tensor found =
          group_norm(x, 2, has_factors ? gamma : Tensor(), has_factors ? gamma : Tensor(), 1e-3);
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t size = channels / 2 * points;
        const float* group = x.data<float>() + i / size * size;
        double mean = 0;
        double variance = 0;
        for (int64_t k = 0; k < size; ++k) mean += static_cast<double>(group[k]) / size;
        for (int64_t k = 0; k < size; ++k) variance += std::pow(group[k] - mean, 2) / size;
        const double scale = has_factors ? gamma.data<float>()[i / points % channels] : 1;
        const double shift = has_factors ? scale : 0;
        const double wanted =
            (x.data<float>()[i] - mean) / std::sqrt(variance + 1e-3) * scale + shift;
        EXPECT_NEAR(found.data<float>()[i], wanted, 1e-5 * (1 + std::abs(wanted))) << i;
      }
    }
  }
}

TEST(ShortRows, AreShortenedToTheNormOfRenorm) {
  const Tensor x = rows_of(3, 40);
  const Tensor found = renorm(x, Scalar(2), 0, Scalar(30.0));
  for (int64_t r = 0; r < 3; ++r) {
    double square = 0;
    for (const double v : row_of(x, r)) square += v * v;
    const auto factor =
        static_cast<float>(std::sqrt(square) > 30 ? 30 / (std::sqrt(square) + 1e-7) : 1);
    for (int64_t i = 0; i < 40; ++i)
      EXPECT_EQ(found.data<float>()[r * 40 + i], x.data<float>()[r * 40 + i] * factor);
  }
}

}  // namespace
}  // namespace tierup::kernels
