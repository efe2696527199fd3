// Combinations: how many there are is known before memory is taken for them.
#include "tierup/kernels/shape/cat.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tierup/base/error.h"

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
