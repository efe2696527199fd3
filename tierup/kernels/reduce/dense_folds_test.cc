// Doubles and narrow floats that are folded by vectors, against plain loops and against floats.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/reduce/double_folds.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/reduce/scan.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

std::vector<double> numbers(int64_t count) {
  std::vector<double> x(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) x[i] = 1.0 + 1.0 / static_cast<double>(1 + i * 37 % 101);
  return x;
}

// Of instruction sets that the processor has.
std::vector<const DoubleFolds*> all_folds() {
  std::vector<const DoubleFolds*> folds{&double_folds_base()};
  if (instruction_set() >= InstructionSet::kAvx2) folds.push_back(&double_folds_avx2());
  if (instruction_set() >= InstructionSet::kAvx512) folds.push_back(&double_folds_avx512());
  return folds;
}

TEST(DoubleFolds, OfRunsHaveTheSameBitsForAnyInstructionSet) {
  for (const int64_t count : {64, 65, 95, 777}) {
    std::vector<double> x = numbers(count);
    x[40] = -3;
    x[41] = 9;
    double exact = 0;
    for (const double value : x) exact += value;
    for (const DoubleFolds* folds : all_folds()) {
      EXPECT_NEAR(folds->sum(x.data(), count), exact, 1e-12 * exact);
      EXPECT_EQ(folds->sum(x.data(), count), double_folds_base().sum(x.data(), count));
      EXPECT_EQ(folds->product(x.data(), count), double_folds_base().product(x.data(), count));
      EXPECT_EQ(folds->max(x.data(), count), 9);
      EXPECT_EQ(folds->min(x.data(), count), -3);
      std::vector<double> with_nan = x;
      with_nan[count - 1] = NAN;
      EXPECT_TRUE(std::isnan(folds->max(with_nan.data(), count)));
      EXPECT_TRUE(std::isnan(folds->min(with_nan.data(), count)));
    }
  }
}

TEST(DoubleFolds, OfRowsAreThoseOfEachColumn) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kStride = 70;
  const std::vector<double> x = numbers(kRows * kStride);
  for (int64_t columns = 1; columns <= 64; ++columns) {
    for (const DoubleFolds* folds : all_folds()) {
      std::vector<double> sums(65, 0.5);
      std::vector<double> most(65, -INFINITY);
      folds->add_rows(x.data(), kRows, kStride, columns, sums.data());
      folds->max_rows(x.data(), kRows, kStride, columns, most.data());
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0.5;
        double top = -INFINITY;
        for (int64_t r = 0; r < kRows; ++r) {
          sum += x[r * kStride + j];
          top = std::max(top, x[r * kStride + j]);
        }
        ASSERT_EQ(sums[j], sum) << j << " of " << columns;
        ASSERT_EQ(most[j], top) << j << " of " << columns;
      }
      ASSERT_EQ(sums[columns], 0.5);
      ASSERT_EQ(most[columns], -INFINITY);
    }
  }
}

void expect_same(const Tensor& narrow, const Tensor& wide) {
  EXPECT_EQ(std::memcmp(narrow.raw(), to_dtype(wide, narrow.dtype()).raw(), narrow.bytes()), 0);
}

TEST(NarrowFloats, FoldAndScanAsTheSameFloats) {
  for (const ScalarType type : {ScalarType::kHalf, ScalarType::kBFloat16}) {
    for (const int64_t width : {5, 67, 200}) {
      Tensor x = Tensor::empty(IntVector{40, width}, ScalarType::kFloat);
      const std::vector<double> values = numbers(x.numel());
      for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = static_cast<float>(values[i]);
      x.data<float>()[3 * width + 2] = NAN;
      const Tensor narrow = to_dtype(x, type);
      const Tensor wide = to_dtype(narrow, ScalarType::kFloat);
      for (const int64_t d : {0, 1}) {
        expect_same(sum(narrow, IntVector{d}, false, {}), sum(wide, IntVector{d}, false, {}));
        expect_same(amax(narrow, {d}, false), amax(wide, {d}, false));
        const auto [most, places] = max_dim(narrow, d, false);
        const auto [wide_most, wide_places] = max_dim(wide, d, false);
        expect_same(most, wide_most);
        EXPECT_EQ(values_of<int64_t>(places), values_of<int64_t>(wide_places));
        const auto [running, at] = cummin(narrow, d);
        const auto [wide_running, wide_at] = cummin(wide, d);
        expect_same(running, wide_running);
        EXPECT_EQ(values_of<int64_t>(at), values_of<int64_t>(wide_at));
      }
    }
  }
}

TEST(Sum, OverADimensionOfOneIsACopy) {
  const Tensor x = counted({2, 1, 70});
  EXPECT_EQ(values_of<float>(sum(x, IntVector{1}, false, {})), values_of<float>(x));
  EXPECT_EQ(values_of<float>(amax(x, {1}, false)), values_of<float>(x));
}

}  // namespace
}  // namespace tierup::kernels
