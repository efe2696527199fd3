#include "tierup/kernels/reduce/scan_logs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tierup/kernels/reduce/scan.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Each sum from the exponentials themselves, relative to their largest.
std::vector<double> plain_scan(const std::vector<double>& x) {
  std::vector<double> y;
  for (size_t end = 1; end <= x.size(); ++end) {
    double top = -INFINITY;
    for (size_t i = 0; i < end; ++i) top = x[i] > top || std::isnan(x[i]) ? x[i] : top;
    double sum = 0;
    for (size_t i = 0; i < end; ++i) sum += std::exp(x[i] - top);
    y.push_back(std::isfinite(top) ? top + std::log(sum) : top);
  }
  return y;
}

// Lanes that rise slowly, steeply and at once, and that begin or end with what is not finite.
std::vector<std::vector<double>> lanes() {
  std::vector<std::vector<double>> result(6, std::vector<double>(150));
  for (size_t i = 0; i < 150; ++i) {
    const auto at = static_cast<double>(i);
    result[0][i] = std::sin(at);
    result[1][i] = 0.3 * at - 30;
    result[2][i] = 40 * at - 2000;
    result[3][i] = i < 70 ? -INFINITY : -at;
    result[4][i] = i == 100 ? INFINITY : std::cos(at);
    result[5][i] = i == 80 ? NAN : -5 * at;
  }
  return result;
}

template <typename T>
void expect_scans(ScalarType type, double tolerance) {
  const std::vector<std::vector<double>> all = lanes();
  const auto count = static_cast<int64_t>(all[0].size());
  const auto lane_count = static_cast<int64_t>(all.size());
  Tensor x = Tensor::empty(IntVector{lane_count, count}, type);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.data<T>()[i] = static_cast<T>(all[i / count][i % count]);
  const Tensor rows = logcumsumexp(x, 1);
  const Tensor columns = logcumsumexp(contiguous(transpose(x, 0, 1)), 0);
  for (int64_t lane = 0; lane < lane_count; ++lane) {
    const T* const begin = x.data<T>() + lane * count;
    const std::vector<double> wanted = plain_scan(std::vector<double>(begin, begin + count));
    for (int64_t i = 0; i < count; ++i) {
      for (const double found : {static_cast<double>(rows.data<T>()[lane * count + i]),
                                 static_cast<double>(columns.data<T>()[i * lane_count + lane])}) {
        const bool is_same =
            found == wanted[i] || (std::isnan(found) && std::isnan(wanted[i])) ||
            std::abs(found - wanted[i]) <= tolerance * std::max(1.0, std::abs(wanted[i]));
        ASSERT_TRUE(is_same) << lane << " " << i << ": " << found << ", not " << wanted[i];
      }
    }
  }
}

TEST(Logcumsumexp, IsTheLogarithmOfEachSum) {
  expect_scans<float>(ScalarType::kFloat, 1e-7);
  expect_scans<double>(ScalarType::kDouble, 2e-14);
}

// Lanes that are scanned together with others, and those that are left.
TEST(Cumsum, OfAnyNumberOfLanesIsThatOfEach) {
  for (int64_t lanes = 1; lanes < 10; ++lanes) {
    const int64_t count = 23;
    const Tensor x = Tensor::empty(IntVector{lanes, count}, ScalarType::kFloat);
    for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
    const Tensor sums = cumsum(x, 1, std::nullopt);
    const Tensor products = cumprod(x, 1, std::nullopt);
    for (int64_t l = 0; l < lanes; ++l) {
      double sum = 0;
      double product = 1;
      for (int64_t i = l * count; i < (l + 1) * count; ++i) {
        sum += static_cast<double>(x.data<float>()[i]);
        product *= static_cast<double>(x.data<float>()[i]);
        EXPECT_EQ(sums.data<float>()[i], static_cast<float>(sum));
        EXPECT_EQ(products.data<float>()[i], static_cast<float>(product));
      }
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
