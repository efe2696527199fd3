#include "tierup/kernels/reduce/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/norm/softmax.h"
#include "tierup/kernels/reduce/order_statistics.h"
#include "tierup/kernels/reduce/reduce_extremum.h"
#include "tierup/kernels/reduce/reduce_moments.h"
#include "tierup/kernels/reduce/reduce_sum.h"
#include "tierup/kernels/reduce/scan.h"
#include "tierup/kernels/reduce/segment.h"
#include "tierup/kernels/reduce/sorting.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {
namespace {

using Floats = std::vector<float>;
const float kNan = std::nanf("");

float only(const Tensor& tensor) { return *tensor.data<float>(); }

// Values that a plain running sum in float gets wrong.
Tensor noisy(const IntVector& sizes) {
  Tensor x = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<float>()[i] = 1.0F / static_cast<float>(1 + i % 977) + 0.1F;
  }
  return x;
}

Tensor negated(const Tensor& x) {
  Tensor result = clone(x);
  for (int64_t i = 0; i < x.numel(); ++i) result.data<float>()[i] = -x.data<float>()[i];
  return result;
}

TEST(Sum, IsAccurateOverManyElements) {
  const Tensor x = noisy({1 << 20});
  double exact = 0;
  for (int64_t i = 0; i < x.numel(); ++i) exact += x.data<float>()[i];
  EXPECT_NEAR(only(sum(x, std::nullopt, false, std::nullopt)), exact, exact * 3e-7);
}

TEST(Sum, HasTheSameBitsForAnyNumberOfThreads) {
  const Tensor rows = noisy({3, 500000});
  const Tensor columns = transpose(noisy({40000, 70}), 0, 1);
  for (const Tensor& x : {rows, columns}) {
    std::vector<Floats> results;
    for (const int threads : {1, 2, 4}) {
      const ThreadCountScope scope(threads);
      results.push_back(values_of<float>(sum(x, IntVector{1}, false, std::nullopt)));
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

TEST(Sum, HasTheSameBitsForAnyInstructionSet) {
  const Tensor x = noisy({200, 1000});
  std::vector<Floats> results;
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (const int64_t dim : {0, 1}) {
      results.push_back(values_of<float>(sum(x, IntVector{dim}, false, std::nullopt)));
      results.push_back(values_of<float>(amax(x, {dim}, false)));
      results.push_back(values_of<float>(prod(x, IntVector{dim}, false, std::nullopt)));
      results.push_back(values_of<float>(var(x, IntVector{dim}, std::nullopt, false)));
      for (const int64_t order : {1, 2})
        results.push_back(
            values_of<float>(vector_norm(x, Scalar(order), IntVector{dim}, false, std::nullopt)));
    }
  }
  for (size_t i = 12; i < results.size(); ++i) EXPECT_EQ(results[i], results[i % 12]);
  limit_instruction_set(InstructionSet::kAvx512);
}

// A column's result is that among 64, which are folded together; fewer than four are runs.
TEST(Columns, OfAnyNumberFoldAsAWholeTileDoes) {
  const Tensor whole = noisy({70, 64});
  whole.data<float>()[5 * 64 + 3] = kNan;
  const IntVector rows{0};
  for (int64_t width = 4; width <= 64; ++width) {
    const Tensor some = whole.as_view(IntVector{70, width}, IntVector{64, 1}, 0);
    for (const auto& fold :
         {+[](const Tensor&x, const IntVector&dims) { return sum(x, dims, false, std::nullopt); },
          +[](const Tensor&x, const IntVector&dims) { return amax(x, dims, false); },
          +[](const Tensor&x, const IntVector&dims) { return amin(x, dims, false); }}) {
      const Floats wanted = values_of<float>(fold(whole, rows));
      const Floats got = values_of<float>(fold(some, rows));
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(std::isnan(got[i]), std::isnan(wanted[i])) << i << " of " << width;
        if (!std::isnan(got[i])) ASSERT_EQ(got[i], wanted[i]) << i << " of " << width;
      }
      ASSERT_EQ(got.size(), static_cast<size_t>(width));
    }
  }
  EXPECT_EQ(values_of<float>(amax(whole, rows, false))[0], 1.1F);
}

// A short row's result is that of the row alone.
TEST(ShortRuns, FoldAsEachDoesAlone) {
  const auto folds = {
      +[](const Tensor& x, const IntVector& dims) { return sum(x, dims, false, std::nullopt); },
      +[](const Tensor& x, const IntVector& dims) { return mean(x, dims, false, std::nullopt); },
      +[](const Tensor& x, const IntVector& dims) { return prod(x, dims, false, std::nullopt); },
      +[](const Tensor& x, const IntVector& dims) { return amax(x, dims, false); },
      +[](const Tensor& x, const IntVector& dims) { return amin(x, dims, false); },
      +[](const Tensor& x, const IntVector& dims) {
        return vector_norm(x, Scalar(2), dims, false, std::nullopt);
      }};
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (int64_t count = 2; count <= 65; ++count) {
      const Tensor whole = noisy({3, 100, count + 3});
      whole.data<float>()[7 * (count + 3)] = kNan;
      const Tensor rows =
          whole.as_view(IntVector{3, 97, count}, IntVector{100 * (count + 3), count + 3, 1}, 0);
      for (const auto& fold : folds) {
        const Floats got = values_of<float>(fold(rows, IntVector{2}));
        ASSERT_EQ(got.size(), 3U * 97U);
        for (int64_t i = 0; i < 3 * 97; ++i) {
          const int64_t at = (i / 97 * 100 + i % 97) * (count + 3);
          const float alone =
              only(fold(whole.as_view(IntVector{count}, IntVector{1}, at), IntVector{0}));
          ASSERT_TRUE(got[i] == alone || (std::isnan(got[i]) && std::isnan(alone)))
              << i << " of " << count << ": " << got[i] << " and " << alone;
        }
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
  const Tensor numbers = make_tensor<int32_t>({16, 2}, std::vector<int32_t>(32, 1 << 30));
  EXPECT_EQ(values_of<int64_t>(sum(numbers, IntVector{1}, false, std::nullopt)),
            std::vector<int64_t>(16, int64_t{1} << 31));
}

TEST(Sum, TakesAnyDimensionsOfAnyLayout) {
  const Tensor x = permute(counted({2, 3, 4}), {2, 0, 1});
  EXPECT_EQ(values_of<float>(sum(x, IntVector{0, 2}, false, std::nullopt)), (Floats{66, 210}));
  EXPECT_EQ(values_of<float>(sum(x, IntVector{1}, true, std::nullopt)),
            (Floats{12, 20, 28, 14, 22, 30, 16, 24, 32, 18, 26, 34}));
}

TEST(Sum, OfNothingIsZeroAndItsMeanNan) {
  const Tensor x = counted({2, 0});
  EXPECT_EQ(values_of<float>(sum(x, IntVector{1}, false, std::nullopt)), (Floats{0, 0}));
  EXPECT_TRUE(std::isnan(only(mean(counted({0}), std::nullopt, false, std::nullopt))));
}

TEST(Sum, AndExtremaOfHalvesAreThoseOfTheSameFloats) {
  for (const int64_t width : {5, 64, 333, 9000}) {
    const Tensor narrow = to_dtype(noisy({3, width}), ScalarType::kHalf);
    const Tensor wide = to_dtype(narrow, ScalarType::kFloat);
    const auto expect_same = [&](const Tensor& a, const Tensor& b) {
      EXPECT_EQ(std::memcmp(a.raw(), to_dtype(b, a.dtype()).raw(), a.bytes()), 0) << width;
    };
    expect_same(sum(narrow, IntVector{1}, false, {}), sum(wide, IntVector{1}, false, {}));
    expect_same(mean(narrow, {}, false, {}), mean(wide, {}, false, {}));
    expect_same(amax(narrow, {1}, false), amax(wide, {1}, false));
    expect_same(amin(narrow, {1}, true), amin(wide, {1}, true));
  }
}

TEST(Sum, OfBoolsIsLong) {
  const Tensor x = make_tensor<bool>({3}, {true, false, true});
  EXPECT_EQ(values_of<int64_t>(sum(x, std::nullopt, false, std::nullopt)),
            (std::vector<int64_t>{2}));
}

TEST(Totals, OfIntegersWrapAround) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Tensor x = make_tensor<int64_t>({3}, {most, 2, 2});
  EXPECT_EQ(values_of<int64_t>(sum(x, std::nullopt, false, std::nullopt)),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min() + 3}));
  EXPECT_EQ(values_of<int64_t>(prod(x, std::nullopt, false, std::nullopt)),
            (std::vector<int64_t>{-4}));
  EXPECT_EQ(values_of<int64_t>(cumsum(x, 0, std::nullopt)),
            (std::vector<int64_t>{most, std::numeric_limits<int64_t>::min() + 1,
                                  std::numeric_limits<int64_t>::min() + 3}));
  EXPECT_EQ(values_of<int64_t>(cumprod(x, 0, std::nullopt)), (std::vector<int64_t>{most, -2, -4}));
}

TEST(Extremum, LetsNanWin) {
  const Tensor x = make_tensor<float>({4}, {1, kNan, 3, 2});
  EXPECT_TRUE(std::isnan(only(amax(x, {}, false))));
  EXPECT_EQ(*argmax(x, std::nullopt, false).data<int64_t>(), 1);
}

TEST(Extremum, TakesTheFirstOfEquals) {
  const auto [values, indices] =
      max_dim(make_tensor<float>({2, 4}, {1, 5, 5, 0, 2, 2, 1, 2}), 1, false);
  EXPECT_EQ(values_of<int64_t>(indices), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(values_of<float>(values), (Floats{5, 2}));
}

// [count, width] along both dimensions, of few values and now and then NaN, at each instruction
// set.
TEST(Extremum, IsAtTheFirstPlaceThatHasIt) {
  const auto check = [](int64_t count, int64_t width, float rare) {
    Tensor x = Tensor::empty(IntVector{count, width}, ScalarType::kFloat);
    uint32_t state = 11;
    for (int64_t i = 0; i < x.numel(); ++i) {
      state = state * 1664525U + 1013904223U;
      const auto draw = state >> 8U;
      x.data<float>()[i] = draw % 991 == 0 ? rare
                           : draw % 3 == 0 ? -0.0F
                                           : static_cast<float>(draw % 7) - 6;
    }
    for (const int64_t dim : {0, 1}) {
      const auto [values, places] = max_dim(x, dim, false);
      const auto [least, least_places] = min_dim(negated(x), dim, false);
      const int64_t lanes = dim == 0 ? width : count;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const float* at = x.data<float>() + (dim == 0 ? lane : lane * width);
        const int64_t step = dim == 0 ? width : 1;
        int64_t best = 0;
        for (int64_t i = 1; i < (dim == 0 ? count : width); ++i) {
          if (std::isnan(at[best * step])) break;
          if (at[i * step] > at[best * step] || std::isnan(at[i * step])) best = i;
        }
        ASSERT_EQ(places.data<int64_t>()[lane], best) << count << " x " << width << ", " << dim;
        ASSERT_EQ(least_places.data<int64_t>()[lane], best) << count << " x " << width;
        ASSERT_EQ(std::bit_cast<uint32_t>(values.data<float>()[lane]),
                  std::bit_cast<uint32_t>(at[best * step]));
        ASSERT_TRUE(least.data<float>()[lane] == -at[best * step] || std::isnan(at[best * step]));
      }
    }
  };
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (const float rare : {1.0F, kNan}) {
      for (const int64_t width : {4, 15, 16, 17, 64, 70, 150}) {
        for (const int64_t count : {1, 2, 33, 34, 100}) check(count, width, rare);
      }
      check(3, 9000, rare);
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

// Integers beyond one block of a lane, whose extremum stands more than once.
TEST(Extremum, OfIntegersIsAtTheFirstPlaceThatHasIt) {
  for (const int64_t count : {64, 71, 4096, 9001}) {
    for (const int64_t place : {int64_t{0}, int64_t{13}, count / 2, count - 1}) {
      Tensor x = Tensor::empty(IntVector{count}, ScalarType::kLong);
      for (int64_t i = 0; i < count; ++i) x.data<int64_t>()[i] = i * 7919 % 1000 - 500;
      x.data<int64_t>()[place] = x.data<int64_t>()[count - 1] = 5000;
      EXPECT_EQ(*argmax(x, 0, false).data<int64_t>(), place) << count;
      x.data<int64_t>()[place] = x.data<int64_t>()[count - 1] = -5000;
      EXPECT_EQ(*argmin(to_dtype(x, ScalarType::kInt), 0, false).data<int64_t>(), place) << count;
    }
  }
}

TEST(Extremum, RefusesAnEmptyDimension) {
  EXPECT_EQ(message_of([] { max(counted({0})); }),
            "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument.");
}

TEST(Moments, OfColumnsAreThoseOfTheirTurnedRows) {
  for (const int64_t rows : {2, 511, 1300}) {
    for (const int64_t width : {4, 37, 150}) {
      const Tensor x = noisy({rows, width});
      const auto [spread, center] = var_mean(x, IntVector{0}, std::nullopt, false);
      const Tensor turned = clone(transpose(x, 0, 1), MemoryFormat::kContiguous);
      const auto [wanted, mean_wanted] = var_mean(turned, IntVector{1}, std::nullopt, false);
      for (int64_t j = 0; j < width; ++j) {
        ASSERT_NEAR(spread.data<float>()[j], wanted.data<float>()[j],
                    wanted.data<float>()[j] * 1e-6);
        ASSERT_NEAR(center.data<float>()[j], mean_wanted.data<float>()[j], 1e-6);
      }
    }
  }
}

TEST(Moments, SurviveALargeMean) {
  const Tensor x = make_tensor<double>({4}, {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16});
  EXPECT_DOUBLE_EQ(*var(x, std::nullopt, std::nullopt, false).data<double>(), 30);
}

TEST(Moments, MeanOfNoComplexNumbersIsNanInBothParts) {
  const Tensor none = Tensor::empty(IntVector{0}, ScalarType::kComplexFloat);
  const Tensor mean = std::get<1>(var_mean(none, std::nullopt, std::nullopt, false));
  EXPECT_TRUE(std::isnan(mean.data<complex64>()->real()));
  EXPECT_TRUE(std::isnan(mean.data<complex64>()->imag()));
}

TEST(Norms, OfInfinitiesAndPowers) {
  const Tensor x = make_tensor<float>({2}, {-3, 4});
  EXPECT_EQ(only(vector_norm(x, Scalar(2), std::nullopt, false, std::nullopt)), 5);
  EXPECT_EQ(only(vector_norm(x, Scalar(-INFINITY), std::nullopt, false, std::nullopt)), 3);
}

Tensor mixed(const IntVector& sizes, float scale) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = scale * std::sin(static_cast<float>(i) * 0.7F);
  return t;
}

// Of the numbers of x [outer, size, inner] at these places, in double.
double expected(const Tensor& x, int64_t size, int64_t inner, int64_t outer_at, int64_t inner_at) {
  double top = -INFINITY;
  double sum = 0;
  const auto at = [&](int64_t k) {
    return static_cast<double>(x.data<float>()[(outer_at * size + k) * inner + inner_at]);
  };
  for (int64_t k = 0; k < size; ++k) top = std::max(top, at(k));
  for (int64_t k = 0; k < size; ++k) sum += std::exp(at(k) - top);
  return top + std::log(sum);
}

TEST(LogSumExp, OfRowsAndColumnsIsThatOfTheDefinition) {
  const ThreadCountScope threads(2);
  for (const InstructionSet set :
       {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(set);
    for (const int64_t size : {1, 2, 17, 300}) {
      for (const int64_t inner : {1, 3, 16, 64, 83}) {
        const Tensor x = mixed({3, size, inner}, 50);
        const Tensor y = logsumexp(x, {1}, false);
        ASSERT_EQ(shape_string(y.sizes()), shape_string(IntVector{3, inner}));
        for (int64_t i = 0; i < 3 * inner; ++i) {
          const double wanted = expected(x, size, inner, i / inner, i % inner);
          ASSERT_NEAR(y.data<float>()[i], wanted, 1e-6 * std::max(1.0, std::abs(wanted)))
              << size << " x " << inner << " at " << i;
        }
        const Tensor wide = to_dtype(x, ScalarType::kDouble);
        const Tensor kept = logsumexp(wide, {-2}, true);
        ASSERT_EQ(shape_string(kept.sizes()), shape_string(IntVector{3, 1, inner}));
        for (int64_t i = 0; i < 3 * inner; ++i)
          ASSERT_NEAR(kept.data<double>()[i], expected(x, size, inner, i / inner, i % inner),
                      1e-12);
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

TEST(LogSumExp, OfInfinities) {
  constexpr float kInf = INFINITY;
  const auto of = [](const Tensor& x, int64_t dim) { return logsumexp(x, {dim}, false); };
  const Tensor x = make_tensor<float>({3, 2}, {-kInf, -kInf, kInf, 1, NAN, 2});
  const Tensor rows = of(x, 1);
  EXPECT_EQ(rows.data<float>()[0], -kInf);
  EXPECT_EQ(rows.data<float>()[1], kInf);
  EXPECT_TRUE(std::isnan(rows.data<float>()[2]));
  const Tensor columns = of(contiguous(transpose(x, 0, 1), MemoryFormat::kContiguous), 0);
  EXPECT_EQ(columns.data<float>()[0], -kInf);
  EXPECT_EQ(columns.data<float>()[1], kInf);
  EXPECT_TRUE(std::isnan(columns.data<float>()[2]));
}

TEST(LogSumExp, OverDimensionsThatAreNotAdjacent) {
  const Tensor x = mixed({2, 5, 3}, 2);
  const Tensor y = logsumexp(x, {0, 2}, false);
  const Tensor turned = contiguous(transpose(x, 0, 1), MemoryFormat::kContiguous);
  const Tensor z = logsumexp(turned, {1, 2}, false);
  for (int64_t i = 0; i < 5; ++i) EXPECT_NEAR(y.data<float>()[i], z.data<float>()[i], 1e-6);
}

TEST(Scan, CountsBoolsInLong) {
  const Tensor x = make_tensor<bool>({3}, {true, true, false});
  EXPECT_EQ(values_of<int64_t>(cumsum(x, 0, std::nullopt)), (std::vector<int64_t>{1, 2, 2}));
}

TEST(Sort, TakesZerosAsEqualAndKeepsNarrowOrder) {
  const auto [values, indices] = sort(make_tensor<float>({5}, {0.0F, -0.0F, -1, kNan, 3}), 0, true);
  EXPECT_EQ(values_of<int64_t>(indices), (std::vector<int64_t>{3, 4, 0, 1, 2}));
  const auto [bytes, places] = sort(make_tensor<int8_t>({4}, {-128, 127, 0, -1}), 0, false);
  EXPECT_EQ(values_of<int8_t>(bytes), (std::vector<int8_t>{-128, -1, 0, 127}));
}

TEST(Sort, IsStableWithNanLast) {
  const auto [values, indices] = sort(make_tensor<float>({4}, {2, kNan, 1, 2}), 0, false);
  EXPECT_EQ(values_of<int64_t>(indices), (std::vector<int64_t>{2, 0, 3, 1}));
  const auto [top, places] = topk(make_tensor<float>({3}, {2, 3, 1}), 2, 0, true, true);
  EXPECT_EQ(values_of<float>(top), (Floats{3, 2}));
  EXPECT_THROW(topk(counted({3}), 4, 0, true, true), Error);
}

// Of a part of each lane, with numbers that are equal and without.
TEST(Sort, ThePartOfALaneThatIsFirstIsThatOfTheSortedLane) {
  for (const int64_t count : {4, 33, 513, 2000}) {
    for (const int64_t k : {int64_t{1}, count / 8 + 1, count / 4}) {
      for (const int64_t values : {7, 100003}) {
        const Tensor lanes = Tensor::empty(IntVector{3, count}, ScalarType::kFloat);
        for (int64_t i = 0; i < lanes.numel(); ++i)
          lanes.data<float>()[i] = static_cast<float>(i * 7919 % values) - 50;
        for (const bool largest : {false, true}) {
          const auto [top, places] = topk(lanes, k, 1, largest, true);
          const auto [all, order] = sort(lanes, 1, largest);
          for (int64_t i = 0; i < 3 * k; ++i) {
            const float value = top.data<float>()[i];
            ASSERT_EQ(value, all.data<float>()[i / k * count + i % k]);
            ASSERT_EQ(value, lanes.data<float>()[i / k * count + places.data<int64_t>()[i]]);
            if (values > count * 3) {
              ASSERT_EQ(places.data<int64_t>()[i], order.data<int64_t>()[i / k * count + i % k]);
            }
          }
        }
      }
    }
  }
}

TEST(Sort, OfManyElementsKeepsTheOrderOfEquals) {
  for (const int64_t count : {9, 25, 47, 100, 256, 257, 1000}) {
    const Tensor x = Tensor::empty(IntVector{2, count}, ScalarType::kFloat);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const auto value = static_cast<float>((i * 7919) % 211 - 100);
      x.data<float>()[i] = i % 97 == 0 ? kNan : i % 89 == 0 ? -0.0F : value * 1e-3F;
    }
    for (const bool descending : {false, true}) {
      const auto [values, indices] = sort(x, -1, descending);
      for (int64_t row = 0; row < 2; ++row) {
        const float* given = x.data<float>() + row * count;
        const auto before = [&](int64_t a, int64_t b) {
          const auto key = [&](int64_t i) { return std::isnan(given[i]) ? INFINITY : given[i]; };
          return descending ? key(a) > key(b) : key(a) < key(b);
        };
        std::vector<int64_t> wanted(static_cast<size_t>(count));
        std::iota(wanted.begin(), wanted.end(), int64_t{0});
        std::stable_sort(wanted.begin(), wanted.end(), before);
        const int64_t* got = indices.data<int64_t>() + row * count;
        EXPECT_EQ(std::vector<int64_t>(got, got + count), wanted) << count << descending;
        for (int64_t i = 0; i < count; ++i) {
          const float value = values.data<float>()[row * count + i];
          const float own = given[got[i]];
          ASSERT_TRUE(value == own || (std::isnan(value) && std::isnan(own))) << i;
        }
      }
    }
  }
}

TEST(Windows, OfOneRowAreAddedUpForEachRow) {
  Tensor windows = Tensor::empty(IntVector{1, 2, 3}, ScalarType::kFloat);
  fill(windows, Scalar(1));
  const Tensor out = unfold_backward(windows, {2, 5}, 1, 3, 2);
  const float expected[] = {1, 1, 2, 1, 1, 1, 1, 2, 1, 1};
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(out.data<float>()[i], expected[i]) << i;
  EXPECT_THROW(unfold_backward(windows, {2, 7}, 1, 3, 2), Error);
}

// Against a sort of all: no two elements are equal, or all are of a few values.
TEST(TopK, AreTheFirstOfASort) {
  for (const int64_t count : {5, 40, 100, 400, 700, 5000}) {
    for (const int64_t k : {1, 3, 4, 12, 63, 64, 99}) {
      if (k > count) continue;
      for (const bool largest : {false, true}) {
        for (const bool has_equals : {false, true}) {
          const Tensor x = Tensor::empty(IntVector{3, count}, ScalarType::kFloat);
          for (int64_t i = 0; i < x.numel(); ++i) {
            const auto scattered = static_cast<float>(i * 7919 % 100003) * 0.25F - 9000;
            x.data<float>()[i] = has_equals ? static_cast<float>(i * 7919 % 13) : scattered;
          }
          if (!has_equals) x.data<float>()[count + count / 2] = kNan;
          const auto [top, places] = topk(x, k, 1, largest, true);
          const auto [sorted, order] = sort(x, 1, largest);
          for (int64_t i = 0; i < 3 * k; ++i) {
            const int64_t at = i / k * count + i % k;
            const float value = top.data<float>()[i];
            const float wanted = sorted.data<float>()[at];
            ASSERT_TRUE(value == wanted || (std::isnan(value) && std::isnan(wanted)))
                << i << " of " << k << " of " << count;
            const int64_t place = places.data<int64_t>()[i];
            if (!has_equals) ASSERT_EQ(place, order.data<int64_t>()[at]);
            const float own = x.data<float>()[i / k * count + place];
            ASSERT_TRUE(own == value || std::isnan(value));
          }
        }
      }
    }
  }
}

TEST(Statistics, TakeTheLowerMedianAndInterpolateQuantiles) {
  EXPECT_EQ(only(median(make_tensor<float>({4}, {4, 1, 3, 2}))), 2);
  EXPECT_EQ(only(quantile_scalar(counted({4}), 0.5, std::nullopt, false, "linear")), 1.5F);
  EXPECT_THROW(quantile_scalar(counted({4}), 1.5, std::nullopt, false, "linear"), Error);
}

}  // namespace
}  // namespace tierup::kernels
