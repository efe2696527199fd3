#include "tierup/kernels/indexing/scatter_floats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/kernels/indexing/scatter.h"
#include "tierup/kernels/indexing/scatter_mode.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

Tensor fractions(const IntVector& sizes, ScalarType dtype) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i)
    result.data<float>()[i] = 1 + std::sin(static_cast<float>(i + 1) * 1.7F);
  return to_dtype(result, dtype);
}

Tensor scrambled(const IntVector& sizes, int64_t bound) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kLong);
  for (int64_t i = 0; i < result.numel(); ++i) result.data<int64_t>()[i] = i * 7 % 11 % bound;
  return result;
}

std::vector<double> values(const Tensor& tensor) {
  const Tensor wide = contiguous(to_dtype(tensor, ScalarType::kDouble));
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

// What scatter(target, source) does to 16-bit floats is what it does to the same floats, rounded.
template <typename Scatter>
void expect_rounded_once(const Tensor& target, const Tensor& source, const Scatter& scatter) {
  const Tensor result = clone(target);
  scatter(result, source);
  const Tensor floats = to_dtype(target, ScalarType::kFloat);
  scatter(floats, to_dtype(source, ScalarType::kFloat));
  EXPECT_EQ(values(result), values(to_dtype(floats, target.dtype())));
}

class ScatterFloats : public ::testing::TestWithParam<ScalarType> {};

TEST_P(ScatterFloats, SumsOfRowsAreRoundedOnce) {
  constexpr int64_t kSources = 200;
  for (const int64_t length : {1, 3, 20, 64}) {
    // Of few rows, and of so many that the named ones are found by sorting.
    for (const int64_t rows : {int64_t{5}, int64_t{9000}}) {
      const Tensor index = scrambled({kSources}, rows);
      expect_rounded_once(
          fractions({rows, length}, GetParam()), fractions({kSources, length}, GetParam()),
          [&](const Tensor& to, const Tensor& from) { index_add_(to, 0, index, from, Scalar(1)); });
    }
  }
}

TEST_P(ScatterFloats, ProductsAreRoundedOnce) {
  const Tensor index = scrambled({40}, 5);
  expect_rounded_once(fractions({5}, GetParam()), fractions({40}, GetParam()),
                      [&](const Tensor& to, const Tensor& from) {
                        scatter_lanes(to, 0, index, from, ScatterMode::kProd, true);
                      });
}

TEST_P(ScatterFloats, SumsOfAColumnAreRoundedOnce) {
  const Tensor matrix = fractions({50, 300}, GetParam());
  const auto column = [&](int64_t i) { return matrix.as_view(IntVector{50}, IntVector{300}, i); };
  const Tensor index = scrambled({40}, 50);
  const Tensor source = fractions({40}, GetParam());
  const Tensor expected = clone(column(7), MemoryFormat::kContiguous);
  index_add_(expected, 0, index, source, Scalar(1));
  const std::vector<double> beside = values(column(8));
  index_add_(column(7), 0, index, source, Scalar(1));
  EXPECT_EQ(values(column(7)), values(expected));
  EXPECT_EQ(values(column(8)), beside);
}

TEST_P(ScatterFloats, SumsOfElementsAreRoundedOnce) {
  const Tensor target = fractions({4, 5, 6}, GetParam());
  for (const int64_t dim : {0, 1, 2}) {
    IntVector sizes{4, 5, 6};
    sizes[static_cast<size_t>(dim)] = 90;
    const Tensor index = scrambled(sizes, 4);
    const auto add = [&](const Tensor& to, const Tensor& from) {
      scatter_add_(to, dim, index, from);
    };
    expect_rounded_once(target, fractions(sizes, GetParam()), add);
    expect_rounded_once(transpose(fractions({6, 5, 4}, GetParam()), 0, 2),
                        fractions(sizes, GetParam()), add);
    expect_rounded_once(target, fractions(sizes, GetParam()),
                        [&](const Tensor& to, const Tensor& from) {
                          scatter_reduce_(to, dim, index, from, "sum", false);
                        });
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ScatterFloats,
                         ::testing::Values(ScalarType::kHalf, ScalarType::kBFloat16));

}  // namespace
}  // namespace tierup::kernels
