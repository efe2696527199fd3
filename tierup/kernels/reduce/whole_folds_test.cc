// Integers that are folded by vectors, and places among wide columns, against plain loops.
#include "tierup/kernels/reduce/whole_folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

// Of instruction sets that the processor has.
std::vector<const WholeFoldTable*> all_tables() {
  std::vector<const WholeFoldTable*> tables{&whole_folds_base()};
  if (instruction_set() >= InstructionSet::kAvx2) tables.push_back(&whole_folds_avx2());
  if (instruction_set() >= InstructionSet::kAvx512) tables.push_back(&whole_folds_avx512());
  return tables;
}

template <typename T>
std::vector<T> wholes(int64_t count) {
  std::vector<T> x(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) x[i] = static_cast<T>(i * 37 % 101 - 50);
  return x;
}

template <typename T>
void expect_folds(const WholeFolds<T>& folds) {
  for (const int64_t count : {1, 3, 8, 63, 64, 65, 300, 777}) {
    const std::vector<T> x = wholes<T>(count);
    uint64_t sum = 0;
    uint64_t product = 1;
    for (const T value : x) {
      sum += static_cast<uint64_t>(value);
      product *= static_cast<uint64_t>(value);
    }
    EXPECT_EQ(folds.max(x.data(), count), *std::max_element(x.begin(), x.end()));
    EXPECT_EQ(folds.min(x.data(), count), *std::min_element(x.begin(), x.end()));
    EXPECT_EQ(folds.sum(x.data(), count), sum);
    EXPECT_EQ(folds.product(x.data(), count), product);
  }
  constexpr int64_t kRows = 7;
  constexpr int64_t kStride = 70;
  const std::vector<T> x = wholes<T>(kRows * kStride);
  for (int64_t columns = 1; columns <= 64; ++columns) {
    std::vector<uint64_t> sums(65, 5);
    std::vector<T> most(65, T(0));
    folds.add_rows(x.data(), kRows, kStride, columns, sums.data());
    folds.max_rows(x.data(), kRows, kStride, columns, most.data());
    for (int64_t j = 0; j < columns; ++j) {
      uint64_t sum = 5;
      T top = 0;
      for (int64_t r = 0; r < kRows; ++r) {
        sum += static_cast<uint64_t>(x[r * kStride + j]);
        top = std::max(top, x[r * kStride + j]);
      }
      ASSERT_EQ(sums[j], sum) << j << " of " << columns;
      ASSERT_EQ(most[j], top) << j << " of " << columns;
    }
    ASSERT_EQ(sums[columns], 5);
    ASSERT_EQ(most[columns], T(0));
  }
}

TEST(WholeFolds, AreThoseOfPlainLoopsForAnyInstructionSet) {
  for (const WholeFoldTable* table : all_tables()) {
    expect_folds(table->i64);
    expect_folds(table->i32);
    expect_folds(table->i16);
    expect_folds(table->i8);
    expect_folds(table->u8);
  }
}

// Rows of a few values, of doubles with a NaN now and then: the first of equals, and the first NaN.
template <typename T>
void expect_places(FindInRows<T> find, bool is_max) {
  constexpr int64_t kRows = 9;
  constexpr int64_t kColumns = 21;
  std::vector<T> x(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 37 % 5);
  if constexpr (std::is_same_v<T, double>) x[4 * kColumns + 2] = x[6 * kColumns + 2] = NAN;
  std::vector<T> best(x.begin(), x.begin() + kColumns);
  std::vector<int64_t> places(kColumns, 0);
  find(x.data() + kColumns, kRows - 1, kColumns, kColumns, 1, best.data(), places.data());
  for (int64_t j = 0; j < kColumns; ++j) {
    int64_t place = 0;
    for (int64_t r = 1; r < kRows; ++r) {
      const T value = x[r * kColumns + j];
      const T found = x[place * kColumns + j];
      const bool is_better = is_max ? value > found : value < found;
      if (found == found && (is_better || value != value)) place = r;
    }
    EXPECT_EQ(places[j], place) << j;
    EXPECT_TRUE(best[j] == x[place * kColumns + j] || best[j] != best[j]) << j;
  }
}

TEST(WholeFolds, FindTheFirstOfEqualsAndTheFirstNanInColumns) {
  for (const WholeFoldTable* table : all_tables()) {
    expect_places(table->find_max_i64, true);
    expect_places(table->find_min_i64, false);
    expect_places(table->find_max_f64, true);
    expect_places(table->find_min_f64, false);
  }
}

// Of every dtype along every dimension, against the same numbers as floats.
TEST(Extremum, OfWideNumbersIsThatOfTheSameFloats) {
  Tensor x = Tensor::empty(IntVector{67, 70}, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 101);
  for (const ScalarType type : {ScalarType::kDouble, ScalarType::kLong, ScalarType::kInt,
                                ScalarType::kShort, ScalarType::kByte}) {
    const Tensor same = to_dtype(x, type);
    for (const int64_t d : {0, 1}) {
      const auto floats = [](const Tensor& y) {
        return values_of<float>(to_dtype(y, ScalarType::kFloat));
      };
      const auto [least, greatest] = aminmax(same, d, false);
      EXPECT_EQ(floats(least), values_of<float>(amin(x, {d}, false)));
      EXPECT_EQ(floats(greatest), values_of<float>(amax(x, {d}, false)));
      const auto [most, places] = max_dim(same, d, false);
      const auto [wanted, wanted_places] = max_dim(x, d, false);
      EXPECT_EQ(floats(most), values_of<float>(wanted));
      EXPECT_EQ(values_of<int64_t>(places), values_of<int64_t>(wanted_places));
      EXPECT_EQ(floats(sum(same, IntVector{d}, false, {})),
                values_of<float>(sum(x, IntVector{d}, false, {})));
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
