#include "tierup/kernels/linalg/distance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes, uint32_t seed) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < result.numel(); ++i) result.data<float>()[i] = normal(random);
  return result;
}

double distance(const Tensor& a, int64_t i, const Tensor& b, int64_t j, double p) {
  double sum = 0;
  double largest = 0;
  for (int64_t k = 0; k < a.size(1); ++k) {
    const double difference = std::abs(static_cast<double>(a.data<float>()[i * a.size(1) + k]) -
                                       static_cast<double>(b.data<float>()[j * b.size(1) + k]));
    sum += p == 0 ? (difference != 0 ? 1 : 0) : std::pow(difference, p);
    largest = std::max(largest, difference);
  }
  if (std::isinf(p)) return largest;
  return p == 0 ? sum : std::pow(sum, 1 / p);
}

constexpr double kOrders[] = {0, 0.7, 1, 2, 3, INFINITY};

// Whole tiles of rows and columns, and what is left of either.
TEST(Distance, OfRowsFollowsTheDefinition) {
  for (const int64_t rows : {1, 2, 5}) {
    for (const int64_t columns : {1, 7, 8, 17, 30, 33, 64, 100}) {
      for (const int64_t length : {1, 3, 24}) {
        const Tensor a = numbers({rows, length}, 1);
        const Tensor b = numbers({columns, length}, 2);
        for (const double p : kOrders) {
          const Tensor found = cdist(a, b, p, std::nullopt);
          const Tensor wide = cdist(to_dtype(a, ScalarType::kDouble),
                                    to_dtype(b, ScalarType::kDouble), p, std::nullopt);
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) {
              const double expected = distance(a, i, b, j, p);
              EXPECT_NEAR(static_cast<double>(found.data<float>()[i * columns + j]), expected,
                          3e-6 * (1 + expected))
                  << p << ": " << rows << ", " << columns << ", " << length << ": " << i << ", "
                  << j;
              EXPECT_NEAR(wide.data<double>()[i * columns + j], expected, 1e-13 * (1 + expected));
            }
          }
        }
      }
    }
  }
}

// Each pair of rows once, in order, whichever thread has the row.
TEST(Distance, OfPairsOfRowsFollowsTheDefinition) {
  constexpr int64_t kRows = 90;
  constexpr int64_t kLength = 23;
  const Tensor x = numbers({kRows, kLength}, 3);
  for (const double p : kOrders) {
    for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kDouble}) {
      const Tensor found = to_dtype(pdist(to_dtype(x, dtype), p), ScalarType::kDouble);
      ASSERT_EQ(found.numel(), kRows * (kRows - 1) / 2);
      const double* at = found.data<double>();
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = i + 1; j < kRows; ++j, ++at)
          EXPECT_NEAR(*at, distance(x, i, x, j, p), 1e-6 * (10 + *at))
              << p << ": " << i << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
