#include "tierup/kernels/gemm/grouped_matmul.h"

#include <gtest/gtest.h>

#include "tierup/base/error.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/shape/slicing.h"

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes) {
  Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data<float>()[i] = static_cast<float>(i * 7 % 5 - 2);
  return result;
}

Tensor offsets(const std::vector<int32_t>& ends) {
  Tensor result = Tensor::empty(IntVector{static_cast<int64_t>(ends.size())}, ScalarType::kInt);
  std::copy(ends.begin(), ends.end(), result.data<int32_t>());
  return result;
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.numel(), b.numel());
  for (int64_t i = 0; i < a.size(0); ++i) {
    for (int64_t j = 0; j < a.size(1); ++j) {
      EXPECT_EQ(a.data<float>()[i * a.stride(0) + j * a.stride(1)],
                b.data<float>()[i * b.stride(0) + j * b.stride(1)]);
    }
  }
}

TEST(GroupedMatmul, EachPartMeetsItsOwnMatrix) {
  const Tensor rows = numbers({7, 3});
  const Tensor experts = numbers({3, 3, 4});
  const Tensor ends = offsets({2, 2, 5});  // The second expert has no rows; two rows no expert.
  const Tensor out = grouped_mm(rows, experts, ends, Tensor(), std::nullopt);
  expect_equal(narrow(out, 0, 0, 2), mm(narrow(rows, 0, 0, 2), select(experts, 0, 0)));
  expect_equal(narrow(out, 0, 2, 3), mm(narrow(rows, 0, 2, 3), select(experts, 0, 2)));
  for (int64_t j = 0; j < 8; ++j) EXPECT_EQ(out.data<float>()[20 + j], 0);
  expect_equal(grouped_mm_rows(rows, experts, ends), out);
}

TEST(GroupedMatmul, PartsOfColumnsAndOfTheDepth) {
  const Tensor left = numbers({2, 5, 3});
  const Tensor wide = numbers({3, 6});
  const Tensor out = grouped_mm(left, wide, offsets({4, 6}), Tensor(), std::nullopt);
  expect_equal(narrow(out, 1, 0, 4), mm(select(left, 0, 0), narrow(wide, 1, 0, 4)));
  expect_equal(narrow(out, 1, 4, 2), mm(select(left, 0, 1), narrow(wide, 1, 4, 2)));
  const Tensor deep = grouped_mm(numbers({2, 6}), numbers({6, 4}), offsets({1, 6}), Tensor(), {});
  expect_equal(select(deep, 0, 1),
               mm(narrow(numbers({2, 6}), 1, 1, 5), narrow(numbers({6, 4}), 0, 1, 5)));
}

TEST(GroupedMatmul, OffsetsMustRiseWithinTheMatrix) {
  const auto run = [](const std::vector<int32_t>& ends) {
    return grouped_mm_rows(numbers({4, 3}), numbers({2, 3, 2}), offsets(ends));
  };
  EXPECT_THROW(run({3, 2}), Error);
  EXPECT_THROW(run({2, 5}), Error);
  EXPECT_THROW(run({-1, 2}), Error);
  EXPECT_THROW(run({4}), Error);
}

}  // namespace
}  // namespace tierup::kernels
