#include "tierup/kernels/gemm/row_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tierup/base/float_watch.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

std::vector<RowKernels<float>> all_tables() {
  std::vector<RowKernels<float>> tables{row_kernels_base()};
#if defined(__x86_64__)
  if (instruction_set() != InstructionSet::kBase) tables.push_back(row_kernels_avx2());
  if (instruction_set() == InstructionSet::kAvx512) tables.push_back(row_kernels_avx512());
#endif
  return tables;
}

std::vector<float> numbers(int64_t n) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>((i * 7919) % 2003) / 100.0F - 10.0F);
  return values;
}

// What the table makes of n numbers, by functions with and without exponentials.
std::vector<float> exponentials(const RowKernels<float>& k, int64_t n) {
  const std::vector<float> x = numbers(n);
  std::vector<float> y(x.size());
  std::vector<float> all;
  const auto keep = [&] { all.insert(all.end(), y.begin(), y.end()); };
  k.softmax(x.data(), 1, n, y.data());
  keep();
  k.log_softmax(x.data(), 1, n, y.data());
  keep();
  y = x;
  k.sigmoid(y.data(), n);
  keep();
  y = x;
  k.tanh(y.data(), n);
  keep();
  return all;
}
std::vector<float> sums(const RowKernels<float>& k, int64_t n) {
  const std::vector<float> x = numbers(n);
  float mean = 0;
  float variance = 0;
  k.moments(x.data(), n, &mean, &variance);
  return {mean, variance, k.max(x.data(), n), k.sum_of_squares(x.data(), n)};
}

TEST(RowKernels, EveryInstructionSetGivesTheSameSums) {
  const std::vector<RowKernels<float>> tables = all_tables();
  for (const int64_t n : {1, 3, 15, 16, 17, 64, 100, 1000}) {
    for (const RowKernels<float>& k : tables) EXPECT_EQ(sums(k, n), sums(tables[0], n)) << n;
  }
}

#if defined(__x86_64__)
// Decision 0022.
TEST(RowKernels, ExponentialsHaveTheSameBitsWithAvx2AndAvx512) {
  if (instruction_set() != InstructionSet::kAvx512) GTEST_SKIP() << "needs AVX-512";
  for (const int64_t n : {1, 3, 15, 16, 17, 64, 100, 1000}) {
    const std::vector<float> avx2 = exponentials(row_kernels_avx2(), n);
    const std::vector<float> avx512 = exponentials(row_kernels_avx512(), n);
    EXPECT_EQ(std::memcmp(avx2.data(), avx512.data(), avx2.size() * sizeof(float)), 0) << n;
  }
}
#endif

// Nets are answered by their twins where the flag of a NaN is up (base/float_watch.h): no function
// may raise it for numbers, and those that give a weight to -infinity (masks) not for that, however
// many lanes of the last vector are padding.
TEST(RowKernels, NumbersRaiseNoFlagOnAnyInstructionSet) {
  const auto raises = [](const auto& work) {
    FloatWatch watch(FloatWatch::Scope::kThread, 1);
    work();
    return watch.met_nan();
  };
  for (const RowKernels<float>& k : all_tables()) {
    for (const int64_t n : {2, 3, 15, 16, 17, 64, 100, 1000}) {
      EXPECT_FALSE(raises([&] { exponentials(k, n); })) << n;
      EXPECT_FALSE(raises([&] { sums(k, n); })) << n;
      std::vector<float> masked = numbers(n);
      masked[0] = -std::numeric_limits<float>::infinity();
      std::vector<float> y(masked.size());
      EXPECT_FALSE(raises([&] {
        k.softmax(masked.data(), 1, n, y.data());
        k.softmax_columns(masked.data(), n, 1, 1, y.data());
      })) << n;
      EXPECT_FALSE(raises([&] { k.exp_shifted(masked.data(), n, 10.1F); })) << n;
      EXPECT_EQ(masked[0], 0) << n;
      masked[0] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(raises([&] { k.softmax(masked.data(), 1, n, y.data()); })) << n;
    }
  }
}

TEST(RowKernels, FunctionsAreCloseToTheLibrary) {
  const std::vector<float> x = numbers(1000);
  for (const RowKernels<float>& k : all_tables()) {
    std::vector<float> sigmoid = x;
    std::vector<float> tanh = x;
    k.sigmoid(sigmoid.data(), 1000);
    k.tanh(tanh.data(), 1000);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(sigmoid[i], 1 / (1 + std::exp(-static_cast<double>(x[i]))), 2e-7);
      EXPECT_NEAR(tanh[i], std::tanh(static_cast<double>(x[i])), 2e-7 + 2e-7 * std::abs(x[i]));
    }
  }
}

TEST(RowKernels, InfinitiesAndNanGoThroughExp) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x{-inf, 0, -1000, std::nanf("")};
  for (const RowKernels<float>& k : all_tables()) {
    std::vector<float> y = x;
    k.exp_shifted(y.data(), 4, 0);
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 1);
    EXPECT_EQ(y[2], 0);
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_TRUE(std::isnan(k.max(x.data(), 4)));
    EXPECT_EQ(k.max(x.data(), 3), 0);
  }
}

TEST(RowKernels, ExpReachesFromTheLeastNormalNumberToTheLargest) {
  const std::vector<float> x{-87.33654F, -87.0F, 88.72283F, 88.722839F, 89.0F, -87.34F};
  for (const RowKernels<float>& k : all_tables()) {
    std::vector<float> y = x;
    k.exp_shifted(y.data(), static_cast<int64_t>(y.size()), 0);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(y[i] / std::exp(static_cast<double>(x[i])), 1, 1.2e-7);
    EXPECT_EQ(y[3], std::numeric_limits<float>::infinity());
    EXPECT_EQ(y[4], std::numeric_limits<float>::infinity());
    EXPECT_EQ(y[5], 0);
  }
}

// Of one line, whose elements are `step` apart.
std::vector<double> plain_softmax(const double* x, int64_t n, int64_t step, bool log) {
  double top = -INFINITY;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, x[i * step]);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i * step] - top);
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i) {
    const double shifted = x[i * step] - top;
    y.push_back(log ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
  return y;
}

TEST(RowKernels, TakeSoftmaxOfDoublesInRowsAndColumns) {
  const RowKernels<double>& kernels = row_kernels<double>();
  for (const int64_t rows : {1, 3, 70}) {
    for (const int64_t n : {1, 7, 8, 64, 65, 131}) {
      std::vector<double> x(static_cast<size_t>(rows * n));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7919 % 997) / 50 - 8;
      x[0] = -INFINITY;
      if (rows * n == 1) x[0] = 3;
      std::vector<double> y(x.size());
      for (const bool log : {false, true}) {
        (log ? kernels.log_softmax : kernels.softmax)(x.data(), rows, n, y.data());
        for (int64_t r = 0; r < rows && n > 1; ++r) {
          const auto wanted = plain_softmax(x.data() + r * n, n, 1, log);
          for (int64_t i = 0; i < n; ++i) {
            if (std::isinf(wanted[i])) continue;
            EXPECT_NEAR(y[r * n + i], wanted[i], 1e-14 + 1e-14 * std::abs(wanted[i])) << n;
          }
        }
        if (rows == 1) continue;
        (log ? kernels.log_softmax_columns : kernels.softmax_columns)(x.data(), rows, n, n,
                                                                      y.data());
        for (int64_t j = 0; j < n; ++j) {
          const auto wanted = plain_softmax(x.data() + j, rows, n, log);
          for (int64_t r = 0; r < rows; ++r) {
            if (std::isinf(wanted[r])) continue;
            EXPECT_NEAR(y[r * n + j], wanted[r], 1e-14 + 1e-14 * std::abs(wanted[r])) << n;
          }
        }
      }
    }
  }
}

// Fewer columns than lanes: pieces go through dense rows.
TEST(RowKernels, TakeSoftmaxOfNarrowColumns) {
  for (const RowKernels<float>& kernels : all_tables()) {
    for (const int64_t n : {1, 2, 3, 5, 8, 12, 15, 16}) {
      for (const int64_t rows : {1, 2, 7, 16, 100}) {
        const std::vector<float> x = numbers(rows * n);
        const std::vector<double> wide(x.begin(), x.end());
        std::vector<float> y(x.size() + 1, 7);
        for (const bool log : {false, true}) {
          (log ? kernels.log_softmax_columns : kernels.softmax_columns)(x.data(), rows, n, n,
                                                                        y.data());
          for (int64_t j = 0; j < n; ++j) {
            const auto wanted = plain_softmax(wide.data() + j, rows, n, log);
            for (int64_t r = 0; r < rows; ++r)
              EXPECT_NEAR(y[r * n + j], wanted[r], 1e-6 + 1e-6 * std::abs(wanted[r])) << n;
          }
          EXPECT_EQ(y.back(), 7);
        }
      }
    }
    // What is not a number stays in its column.
    std::vector<float> x = numbers(5 * 40);
    x[5 * 33 + 2] = NAN;
    std::vector<float> y(x.size());
    kernels.softmax_columns(x.data(), 40, 5, 5, y.data());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 5 == 2) << i;
  }
}

TEST(RowKernels, LetNansOfDoublesWin) {
  const RowKernels<double>& kernels = row_kernels<double>();
  for (const int64_t place : {0, 5, 16, 18}) {
    std::vector<double> x(19, 1.0);
    x[place] = NAN;
    EXPECT_TRUE(std::isnan(kernels.max(x.data(), 19))) << place;
    double sum = 0;
    kernels.log_sum_exp(x.data(), 1, 19, &sum);
    EXPECT_TRUE(std::isnan(sum)) << place;
  }
}

TEST(RowKernels, SumExponentialsOfRowsThatAreNotFiniteBesideOthers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const RowKernels<float>& kernels : all_tables()) {
    for (const int64_t n : {1, 7, 16, 33, 120}) {
      const int64_t rows = 21;
      std::vector<float> x = numbers(rows * n);
      std::fill_n(x.begin() + 2 * n, n, -kInfinity);
      x[5 * n] = kInfinity;
      x[18 * n + n / 2] = NAN;
      std::vector<float> y(rows + 1, 7);
      kernels.log_sum_exp(x.data(), rows, n, y.data());
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(x[r * n + i]));
        if (r == 18) {
          EXPECT_TRUE(std::isnan(y[r])) << n;
        } else if (r == 2 || r == 5) {
          EXPECT_EQ(y[r], r == 2 ? -kInfinity : kInfinity) << n;
        } else {
          EXPECT_NEAR(y[r], std::log(sum), 2e-6) << n << ", row " << r;
        }
      }
      EXPECT_EQ(y.back(), 7);
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
