#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tierup/base/parallel.h"
#include "tierup/kernels/indexing/bag_sums.h"
#include "tierup/kernels/indexing/embedding.h"
#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/indexing/rearrange.h"
#include "tierup/kernels/indexing/scatter.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/pointwise/complex_views.h"
#include "tierup/kernels/pointwise/masking.h"
#include "tierup/kernels/reduce/searchsorted.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/padding.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/kernels/vision/grid_sample.h"

namespace tierup::kernels {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
constexpr float kUnset = -77;

Tensor longs(const std::vector<int64_t>& values) {
  return make_tensor<int64_t>({static_cast<int64_t>(values.size())}, values);
}

TEST(Joining, CatPromotesAndSkipsEmptyVectors) {
  const Tensor joined = cat({counted({2}), counted({0}), longs({7})}, 0);
  EXPECT_EQ(values_of<float>(joined), (Floats{0, 1, 7}));
  EXPECT_EQ(message_of([] {
              cat({counted({2, 2}), counted({2, 3})}, 0);
            }),
            "Sizes of tensors must match except in dimension 0. Expected size 2 but got size 3 for "
            "tensor number 1 in the list.");
}

TEST(Padding, ReflectsAndRefusesTooWideBorders) {
  EXPECT_EQ(values_of<float>(reflection_pad1d(counted({1, 3}), {2, 1})),
            (Floats{2, 1, 0, 1, 2, 1}));
  EXPECT_THROW(reflection_pad1d(counted({1, 3}), {3, 0}), Error);
  EXPECT_EQ(values_of<float>(constant_pad_nd(counted({3}), {-1, 1}, Scalar(9))), (Floats{1, 2, 9}));
}

TEST(Rearrange, RollsAndFlipsInSeveralDimensions) {
  EXPECT_EQ(values_of<float>(roll(counted({2, 2}), {1}, {})), (Floats{3, 0, 1, 2}));
  EXPECT_EQ(values_of<float>(roll(counted({2, 3}), {1, -1}, {0, 1})), (Floats{4, 5, 3, 1, 2, 0}));
  EXPECT_EQ(values_of<float>(roll(counted({2, 3}), {0, 4}, {0, -1})), (Floats{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(values_of<float>(roll(counted({4}), {1, 2, -7}, {0, 0, 0})), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(values_of<float>(flip(counted({2, 2}), {0, 1})), (Floats{3, 2, 1, 0}));
}

TEST(Rearrange, FlipsElementsOfAnyWidth) {
  for (const ScalarType type : {ScalarType::kByte, ScalarType::kShort, ScalarType::kFloat,
                                ScalarType::kLong, ScalarType::kComplexDouble}) {
    for (const int64_t size : {1, 15, 16, 37, 100}) {
      const Tensor flipped = flip(to_dtype(counted({2, size}), type), {1});
      const std::vector<float> got = values_of<float>(
          to_dtype(is_complex(type) ? real(flipped) : flipped, ScalarType::kFloat));
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(got[i], static_cast<float>(size - 1 - i));
        ASSERT_EQ(got[size + i], static_cast<float>(2 * size - 1 - i));
      }
    }
  }
}

// Few elements by rows and many by pieces; rows that stay together, and sources in other orders.
TEST(Rearrange, RollsMoveEachElement) {
  const Tensor few = counted({4, 5, 6});
  const Tensor many = counted({40, 30, 20});
  for (const Tensor& x : {few, transpose(few, 0, 2), transpose(few, 0, 1), many}) {
    for (const IntVector& by : {IntVector{1, 0, 0}, IntVector{0, -2, 0}, IntVector{3, 0, -1},
                                IntVector{0, 7, 2}, IntVector{0, 0, 0}}) {
      const Tensor rolled = roll(x, by, {0, 1, 2});
      for (int64_t i = 0; i < x.numel(); ++i) {
        IntVector place{i / (x.size(1) * x.size(2)), i / x.size(2) % x.size(1), i % x.size(2)};
        int64_t source = x.offset();
        for (size_t d = 0; d < 3; ++d) {
          const int64_t size = x.sizes()[d];
          source += ((place[d] - by[d]) % size + size) % size * x.strides()[d];
        }
        ASSERT_EQ(rolled.data<float>()[i], x.data<float>()[source - x.offset()]) << i;
      }
    }
  }
}

// All rolls of a tensor are parts of it.
TEST(Rearrange, WrapsAroundBothEnds) {
  EXPECT_EQ(values_of<float>(wrap(counted({3}), {0}, {1}, {2})), (Floats{2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(values_of<float>(wrap(counted({2}), {-1}, {3}, {0})), (Floats{1, 0, 1, 0, 1}));
  const Tensor x = counted({4, 5});
  const Tensor around = wrap(x, {0, 1}, {2, 1}, {1, 3});
  for (const int64_t i : {-1, 0, 2}) {
    for (const int64_t j : {-3, 0, 1}) {
      const Tensor part = narrow(narrow(around, 0, 2 - i, 4), 1, 1 - j, 5);
      EXPECT_EQ(values_of<float>(contiguous(part)), values_of<float>(roll(x, {i, j}, {0, 1})));
    }
  }
  EXPECT_EQ(wrap(counted({0, 2}), {0}, {1}, {1}).sizes()[0], 2);
  EXPECT_THROW(wrap(x, {0}, {-1}, {1}), Error);
  EXPECT_THROW(wrap(counted({}), {0}, {1}, {1}), Error);
}

// More index elements than are looked at at once, alone and in front of or between other
// dimensions.
TEST(Gather, ChecksEveryIndex) {
  EXPECT_THROW(gather(counted({3}), 0, longs({-1})), Error);
  EXPECT_EQ(values_of<float>(take(counted({3}), longs({-1}))), (Floats{2}));
  EXPECT_EQ(message_of([] { index_select(counted({3}), 0, longs({3})); }),
            "index out of range in self: index 3 is out of bounds for dimension with size 3");
}

TEST(Scatter, MeansWithAndWithoutTheOldValue) {
  const Tensor with = make_tensor<float>({2}, {1, 5});
  const Tensor without = make_tensor<float>({2}, {1, 5});
  const Tensor src = make_tensor<float>({2}, {2, 6});
  scatter_reduce_(with, 0, longs({0, 0}), src, "mean", true);
  scatter_reduce_(without, 0, longs({0, 0}), src, "mean", false);
  EXPECT_EQ(values_of<float>(with), (Floats{3, 5}));
  EXPECT_EQ(values_of<float>(without), (Floats{4, 5}));
}

TEST(Scatter, WrapsIntegersAround) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Tensor x = longs({most, most});
  scatter_add_(x, 0, longs({0}), longs({1}));
  scatter_reduce_(x, 0, longs({1}), longs({2}), "prod", true);
  EXPECT_EQ(values_of<int64_t>(x), (std::vector<int64_t>{std::numeric_limits<int64_t>::min(), -2}));
}

TEST(Scatter, RefusesToWriteThroughExpandedMemory) {
  EXPECT_THROW(scatter_add_(expand_to(counted({1}), IntVector{3}), 0, longs({0}), counted({1})),
               Error);
}

TEST(Masking, FindsNonzerosInRowMajorOrder) {
  EXPECT_EQ(values_of<int64_t>(nonzero(make_tensor<float>({2, 2}, {0, 1, 2, 0}))),
            (Longs{0, 1, 1, 0}));
  EXPECT_THROW(masked_scatter_(counted({2}), make_tensor<bool>({2}, {true, true}), counted({1})),
               Error);
}

TEST(Searching, PutsEqualValuesBeforeOrBehind) {
  const Tensor edges = counted({3});
  EXPECT_EQ(values_of<int64_t>(bucketize(counted({3}), edges, false, false)), (Longs{0, 1, 2}));
  EXPECT_EQ(values_of<int64_t>(bucketize(counted({3}), edges, false, true)), (Longs{1, 2, 3}));
}

TEST(Masking, FindsAllOfManyElements) {
  for (const IntVector& sizes : {IntVector{40000}, IntVector{200, 201}, IntVector{30, 41, 37}}) {
    Tensor mask = Tensor::empty(sizes, ScalarType::kBool);
    Longs wanted;
    Floats numbers;
    for (int64_t i = 0; i < mask.numel(); ++i) {
      const bool is_set = i * 2654435761U % 7 < 3;
      mask.data<bool>()[i] = is_set;
      int64_t rest = i;
      Longs place(sizes.size());
      for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) place[d] = rest % sizes[d];
      if (!is_set) continue;
      wanted.insert(wanted.end(), place.begin(), place.end());
      numbers.push_back(static_cast<float>(i));
    }
    EXPECT_EQ(values_of<int64_t>(nonzero(mask)), wanted);
    EXPECT_EQ(values_of<float>(masked_select(counted(sizes), mask)), numbers);
  }
}

// Values that lie close together are counted, others sorted.
TEST(Unique, OfIntegersIsSortedAndCountedWhereverTheyLie) {
  for (const int64_t apart : {int64_t{1}, int64_t{1} << 58}) {
    const Tensor x = longs({3 * apart, -2 * apart, 3 * apart, 0, -2 * apart, 3 * apart, 4 * apart});
    const auto [values, inverse, counts] = unique(x, true, true, true);
    EXPECT_EQ(values_of<int64_t>(values), (Longs{-2 * apart, 0, 3 * apart, 4 * apart}));
    EXPECT_EQ(values_of<int64_t>(inverse), (Longs{2, 0, 2, 1, 0, 2, 3}));
    EXPECT_EQ(values_of<int64_t>(counts), (Longs{2, 1, 3, 1}));
  }
}

TEST(Unique, WithoutPlacesIsThatWithThem) {
  const Tensor x = longs({3, 3, -2, -2, -2, 3, 7, 0, 0});
  const Longs sorted{-2, 0, 3, 7};
  EXPECT_EQ(values_of<int64_t>(std::get<0>(unique(x, true, false, false))), sorted);
  const auto [values, inverse, counts] = unique(x, true, false, true);
  EXPECT_EQ(values_of<int64_t>(values), sorted);
  EXPECT_EQ(values_of<int64_t>(counts), (Longs{3, 2, 3, 1}));
  const Longs runs{3, -2, 3, 7, 0};
  EXPECT_EQ(values_of<int64_t>(std::get<0>(unique_consecutive(x, false, false, {}))), runs);
  const auto [firsts, groups, sizes] = unique_consecutive(x, true, true, {});
  EXPECT_EQ(values_of<int64_t>(firsts), runs);
  EXPECT_EQ(values_of<int64_t>(groups), (Longs{0, 0, 1, 1, 1, 2, 3, 4, 4}));
  EXPECT_EQ(values_of<int64_t>(sizes), (Longs{2, 3, 1, 1, 2}));
  const Tensor nothing = longs({});
  EXPECT_EQ(std::get<0>(unique_consecutive(nothing, false, false, {})).numel(), 0);
}

// One index for each row takes the row as a whole.
TEST(Gather, AlongADimensionTakesIndicesModuloItsSize) {
  const Tensor x = counted({1, 4});
  const Tensor places = reshape(longs({-1, -5, 4}), {1, 3});
  EXPECT_EQ(values_of<float>(take_along_dim(x, places, 1)), (Floats{3, 3, 0}));
  EXPECT_THROW(take_along_dim(x, places, std::nullopt), Error);
}

TEST(Gather, OfRowsIsThatOfTheirElements) {
  const Tensor x = counted({3, 5, 2, 4});
  Tensor index = Tensor::empty(IntVector{2, 7, 1, 1}, ScalarType::kLong);
  for (int64_t i = 0; i < index.numel(); ++i) index.data<int64_t>()[i] = i * 3 % 5;
  const Tensor whole = expand_to(index, IntVector{2, 7, 2, 4});
  for (const Tensor& from : {x, transpose(counted({5, 3, 2, 4}), 0, 1)}) {
    EXPECT_EQ(values_of<float>(gather(from, 1, whole)),
              values_of<float>(gather(from, 1, clone(whole, MemoryFormat::kContiguous))));
  }
  index.data<int64_t>()[13] = 5;
  EXPECT_THROW(gather(x, 1, whole), Error);
}

// Numbers between 0 and `bound` without order.
Tensor scrambled(const IntVector& sizes, int64_t bound) {
  Tensor result = Tensor::empty(sizes, ScalarType::kLong);
  uint32_t state = 7;
  for (int64_t i = 0; i < result.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    result.data<int64_t>()[i] = (state >> 8U) % bound;
  }
  return result;
}

// Where lines lie dense, they are gone through instead of the indexed dimension.
TEST(Gather, AlongAnyDimensionOfAnyLayoutIsThatOfEachElement) {
  const IntVector sizes{3, 5, 37};
  for (const bool turned : {false, true}) {
    Tensor x = counted(sizes);
    if (turned) x = transpose(clone(transpose(x, 1, 2), MemoryFormat::kContiguous), 1, 2);
    for (int64_t d = 0; d < 3; ++d) {
      const Tensor index = scrambled({3, 4, 33}, sizes[static_cast<size_t>(d)]);
      Floats wanted;
      for (int64_t i = 0; i < index.numel(); ++i) {
        std::array<int64_t, 3> at{i / 132, i / 33 % 4, i % 33};
        at[static_cast<size_t>(d)] = index.data<int64_t>()[i];
        wanted.push_back(static_cast<float>((at[0] * 5 + at[1]) * 37 + at[2]));
      }
      EXPECT_EQ(values_of<float>(gather(x, d, index)), wanted) << d << turned;
      index.data<int64_t>()[100] = sizes[static_cast<size_t>(d)];
      EXPECT_THROW(gather(x, d, index), Error);
    }
  }
}

// One element of each lane, as of the classes of a batch.
TEST(Gather, OfOneElementOfEachLaneIsThatElement) {
  const Tensor x = counted({3, 37, 5});
  for (const Tensor& from : {x, transpose(counted({3, 5, 37}), 1, 2)}) {
    const Tensor index = scrambled({3, 37, 1}, 5);
    const Floats all = values_of<float>(from);
    Floats wanted;
    for (int64_t i = 0; i < index.numel(); ++i)
      wanted.push_back(all[static_cast<size_t>(i * 5 + index.data<int64_t>()[i])]);
    EXPECT_EQ(values_of<float>(gather(from, 2, index)), wanted);
    EXPECT_EQ(values_of<float>(gather(from, 2, transpose(transpose(index, 0, 1), 0, 1))), wanted);
    index.data<int64_t>()[7] = -1;
    EXPECT_THROW(gather(from, 2, index), Error);
  }
}

TEST(Scatter, AlongAnyDimensionAddsInTheOrderOfTheIndex) {
  const IntVector sizes{3, 5, 37};
  for (int64_t d = 0; d < 3; ++d) {
    for (const int threads : {1, 2}) {
      const ThreadCountScope scope(threads);
      const Tensor index = scrambled({3, 5, 37}, sizes[static_cast<size_t>(d)]);
      Tensor src = counted(sizes);
      for (int64_t i = 0; i < src.numel(); ++i)
        src.data<float>()[i] = 1.0F / static_cast<float>(i + 3);
      Floats wanted(3 * 5 * 37, 0.5F);
      for (int64_t i = 0; i < index.numel(); ++i) {
        std::array<int64_t, 3> at{i / 185, i / 37 % 5, i % 37};
        at[static_cast<size_t>(d)] = index.data<int64_t>()[i];
        wanted[static_cast<size_t>((at[0] * 5 + at[1]) * 37 + at[2])] += src.data<float>()[i];
      }
      Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
      fill(result, Scalar(0.5));
      scatter_add_(result, d, index, src);
      EXPECT_EQ(values_of<float>(result), wanted) << d;
    }
  }
}

// At each instruction set, of widths that end within vectors; the memory holds no more than that.
TEST(Bags, AddTheirRowsInTheOrderOfTheIndices) {
  for (const auto most : {InstructionSet::kBase, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    limit_instruction_set(most);
    for (int64_t width = 1; width <= 140; ++width) {
      Floats table(static_cast<size_t>(9 * width));
      for (size_t i = 0; i < table.size(); ++i) table[i] = 1.0F / static_cast<float>(i + 1);
      const Longs index{8, 0, 3, 3, 5, 8, 2};
      const Floats factors{1.5F, -2, 0.25F, 3, 7, 0.1F, 4};
      for (const float* factor : {static_cast<const float*>(nullptr), factors.data()}) {
        Floats wanted(static_cast<size_t>(width), 0.0F);
        for (size_t i = 0; i < index.size(); ++i) {
          if (index[i] == 3) continue;
          for (int64_t j = 0; j < width; ++j) {
            const float x = table[static_cast<size_t>(index[i] * width + j)];
            wanted[static_cast<size_t>(j)] += factor == nullptr ? x : x * factor[i];
          }
        }
        Floats out(static_cast<size_t>(width), kUnset);
        EXPECT_EQ(bag_sum()(table.data(), width, index.data(), 7, factor, 3, out.data()), 5);
        ASSERT_EQ(out, wanted) << width;
      }
    }
  }
  limit_instruction_set(InstructionSet::kAvx512);
}

TEST(Searching, FindsThePlaceOfEachOfManyValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t count = 0; count <= 40; ++count) {
    Floats edges;
    for (int64_t i = 0; i < count; ++i) edges.push_back(static_cast<float>(i / 2));
    Floats wanted_of;
    for (int64_t i = 0; i < 43; ++i) wanted_of.push_back(static_cast<float>(i - 1) / 2);
    wanted_of.push_back(nan);
    const Tensor values = make_tensor<float>({44}, wanted_of);
    const Tensor sorted = make_tensor<float>({count}, edges);
    const auto before = [](float a, float b) { return a < b || (a == a && b != b); };
    for (const bool right : {false, true}) {
      Longs wanted;
      for (const float value : wanted_of) {
        const auto at = right ? std::upper_bound(edges.begin(), edges.end(), value, before)
                              : std::lower_bound(edges.begin(), edges.end(), value, before);
        wanted.push_back(at - edges.begin());
      }
      EXPECT_EQ(values_of<int64_t>(bucketize(values, sorted, false, right)), wanted)
          << count << right;
    }
  }
}

TEST(Searching, LooksWherePyTorchDoesAmongNaNs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor values = make_tensor<float>({4}, {0.5F, 1.5F, 2.5F, nan});
  const Tensor half = make_tensor<float>({4}, {1, 2, nan, nan});
  const Tensor most = make_tensor<float>({6}, {1, nan, nan, nan, nan, nan});
  for (const bool right : {false, true}) {
    EXPECT_EQ(values_of<int64_t>(bucketize(values, half, false, right)), (Longs{4, 4, 4, 4}));
    EXPECT_EQ(values_of<int64_t>(bucketize(values, most, false, right)), (Longs{6, 6, 6, 6}));
  }
}

TEST(GridSampling, OfManyPointsAndChannelsIsThatOfEach) {
  const int64_t side = 120;  // More points than are done at once.
  const Tensor image = counted({1, 3, 5, 4});
  image.data<float>()[0] = std::numeric_limits<float>::infinity();
  Tensor grid = Tensor::empty(IntVector{1, side, side, 2}, ScalarType::kFloat);
  for (int64_t i = 0; i < grid.numel(); ++i)
    grid.data<float>()[i] = static_cast<float>(i * 37 % 101) / 40 - 1.25F;
  for (const int64_t mode : {0, 1, 2}) {
    const Tensor all = grid_sampler(image, grid, mode, 0, false);
    for (int64_t p = 0; p < side * side; p += 61) {
      const Tensor point = grid.as_view(IntVector{1, 1, 1, 2}, IntVector{2, 2, 2, 1}, p * 2);
      for (int64_t c = 0; c < 3; ++c) {
        const Tensor plane = image.as_view(IntVector{1, 1, 5, 4}, IntVector{20, 20, 4, 1}, c * 20);
        const float alone = *grid_sampler(plane, point, mode, 0, false).data<float>();
        const float got = all.data<float>()[c * side * side + p];
        ASSERT_TRUE(got == alone || (std::isnan(got) && std::isnan(alone)))
            << mode << " " << p << ": " << got << " and " << alone;
      }
    }
  }
}

// Few places, more than there are, and some from the end.
TEST(Filling, WritesEachNamedSliceAndNoOther) {
  for (const Longs& places : {Longs{1}, Longs{0, -1}, Longs{3, 1, 3, -4, 1, 3, 1}}) {
    for (const int64_t dim : {0, 1, 2}) {
      Tensor x = counted({4, 4, 4});
      index_fill_scalar_(x, dim, longs(places), Scalar(-1));
      const int64_t stride = dim == 0 ? 16 : dim == 1 ? 4 : 1;
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t at = i / stride % 4;
        const bool is_named = std::any_of(places.begin(), places.end(),
                                          [&](int64_t place) { return (place + 4) % 4 == at; });
        EXPECT_EQ(x.data<float>()[i], is_named ? -1 : static_cast<float>(i)) << dim << " " << i;
      }
    }
  }
}

// As vector norms have it: of order 0 how many numbers are not zero, of order -inf the least.
TEST(Embedding, RenormTakesNormsOfAnyOrder) {
  const Tensor table = make_tensor<float>({2, 4}, {3, 0, -6, 9, 1, 2, 4, 8});
  const Floats by_count = values_of<float>(embedding_renorm(table, longs({0}), 1, 0));
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(by_count[i], table.data<float>()[i] / (i < 4 ? 3 : 1), 1e-6);
  const Floats by_least = values_of<float>(embedding_renorm(table, longs({0, 1}), 0.5, -INFINITY));
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(by_least[i], table.data<float>()[i] / (i < 4 ? 1 : 2), 1e-6);
}

TEST(GridSampling, TakesTheEvenOneOfTwoNearest) {
  const Tensor image = make_tensor<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  // At -0.5, 0.5, 1.5, 2.5, 3.5 and 1.25.
  const Tensor grid =
      make_tensor<float>({1, 1, 6, 2}, {-1, 0, -0.5F, 0, 0, 0, 0.5F, 0, 1, 0, -0.125F, 0});
  EXPECT_EQ(values_of<float>(grid_sampler(image, grid, 1, 0, false)), (Floats{1, 1, 3, 3, 0, 2}));
}

}  // namespace
}  // namespace tierup::kernels
