// Combinations: how many there are is known before memory is taken for them.
#include "tierup/kernels/shape/cat.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"

namespace tierup::kernels {
namespace {

Tensor counting(int64_t n) {
  Tensor result = Tensor::empty(IntVector{n}, ScalarType::kInt);
  std::iota(result.data<int32_t>(), result.data<int32_t>() + n, 0);
  return result;
}

std::vector<int32_t> items(const Tensor& tensor) {
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.numel()};
}

// Rows so long that threads take parts of them, whose ends stand anywhere.
TEST(Cat, JoinsFewLongRowsOnSeveralThreads) {
  const ThreadCountScope threads(3);
  for (const int64_t rows : {1, 3}) {
    std::vector<Tensor> parts;
    int64_t columns = 0;
    for (const int64_t width : {70001, 1, 0, 130003}) {
      const Tensor part = Tensor::empty(IntVector{rows, width}, ScalarType::kInt);
      for (int64_t i = 0; i < part.numel(); ++i)
        part.data<int32_t>()[i] = static_cast<int32_t>(i / width * 1000000 + columns + i % width);
      parts.push_back(part);
      columns += width;
    }
    const Tensor joined = cat(parts, 1);
    ASSERT_EQ(joined.numel(), rows * columns);
    for (int64_t i = 0; i < joined.numel(); ++i)
      ASSERT_EQ(joined.data<int32_t>()[i], i / columns * 1000000 + i % columns) << rows;
  }
}

// Runs of 1 to 20 bytes to each row.
TEST(Cat, JoinsShortRuns) {
  std::vector<Tensor> parts;
  for (const int64_t width : {1, 2, 5, 3, 20, 17, 4}) {
    const IntVector sizes{70, width};
    const Tensor part = Tensor::empty(sizes, ScalarType::kByte);
    for (int64_t i = 0; i < part.numel(); ++i)
      part.data<uint8_t>()[i] = static_cast<uint8_t>(i * 7 + width);
    parts.push_back(part);
  }
  const Tensor joined = cat(parts, 1);
  ASSERT_EQ(joined.size(1), 52);
  for (int64_t row = 0; row < 70; ++row) {
    int64_t at = 0;
    for (const Tensor& part : parts) {
      for (int64_t i = 0; i < part.size(1); ++i, ++at)
        ASSERT_EQ(joined.data<uint8_t>()[row * 52 + at],
                  part.data<uint8_t>()[row * part.size(1) + i])
            << row << " " << at;
    }
  }
}

TEST(Combinations, ComeInLexicographicOrder) {
  EXPECT_EQ(items(combinations(counting(4), 3, false)),
            (std::vector<int32_t>{0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3}));
  EXPECT_EQ(items(combinations(counting(2), 3, true)),
            (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1}));
}

TEST(Combinations, OfMoreThanThereAreAreNone) {
  const Tensor none = combinations(counting(2), int64_t{1} << 40, false);
  EXPECT_EQ(none.size(0), 0);
  EXPECT_EQ(none.size(1), int64_t{1} << 40);
  EXPECT_EQ(combinations(counting(0), 3, true).size(0), 0);
}

TEST(Combinations, TooManyAreRefusedAtOnce) {
  EXPECT_THROW(combinations(counting(60), 30, false), Error);
  EXPECT_THROW(combinations(counting(2), int64_t{1} << 40, true), Error);
  EXPECT_THROW(combinations(counting(1000), 500, false), Error);
}

}  // namespace
}  // namespace tierup::kernels
