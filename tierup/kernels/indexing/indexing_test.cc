#include <gtest/gtest.h>

#include <limits>

#include "tierup/kernels/indexing/advanced_index.h"
#include "tierup/kernels/indexing/index_select.h"
#include "tierup/kernels/indexing/rearrange.h"
#include "tierup/kernels/indexing/scatter.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/pointwise/masking.h"
#include "tierup/kernels/reduce/searchsorted.h"
#include "tierup/kernels/shape/cat.h"
#include "tierup/kernels/shape/padding.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

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

TEST(Index, CountsFromTheEndAndChecksBounds) {
  EXPECT_EQ(values_of<float>(index(counted({3}), {longs({-1, 0})})), (Floats{2, 0}));
  EXPECT_EQ(message_of([] { index(counted({3}), {longs({5})}); }),
            "index 5 is out of bounds for dimension 0 with size 3");
}

TEST(Index, PutsSeparatedIndicesInFront) {
  const Tensor x = counted({2, 3, 4});
  const Tensor y = index(x, {longs({0, 1}), Tensor(), longs({2, 3})});
  EXPECT_EQ(sizes_of(y), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values_of<float>(y), (Floats{2, 6, 10, 15, 19, 23}));
}

TEST(Index, WhatIsNotZeroInAMaskIsTrue) {
  const Tensor x = counted({4});
  const std::vector<Tensor> all = {longs({0, 1, 2, 3})};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Tensor& mask :
       {longs({0, 256, 0, -1}), make_tensor<float>({4}, {0, 0.5F, -0.0F, nan}),
        make_tensor<uint8_t>({4}, {0, 2, 0, 255}), make_tensor<bool>({4}, {0, 1, 0, 1})}) {
    EXPECT_EQ(values_of<float>(masked_index(x, mask, all, Scalar(9))), (Floats{9, 1, 9, 3}));
    EXPECT_EQ(values_of<float>(masked_index_put_accumulate(x, mask, all, x)), (Floats{0, 2, 2, 6}));
  }
}

TEST(Index, TakesMasksOfAnyRank) {
  const Tensor mask = make_tensor<bool>({2, 2}, {true, false, false, true});
  EXPECT_EQ(values_of<float>(index(counted({2, 2}), {mask})), (Floats{0, 3}));
  const Tensor yes = Tensor::scalar(Scalar(true));
  EXPECT_EQ(sizes_of(index(counted({2}), {yes})), (std::vector<int64_t>{1, 2}));
}

TEST(Index, PutAddsRepeatedIndices) {
  const Tensor x = counted({3});
  index_put_(x, {longs({1, 1})}, make_tensor<float>({2}, {10, 20}), true);
  EXPECT_EQ(values_of<float>(x), (Floats{0, 31, 2}));
}

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

// One index for each row takes the row as a whole.
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

}  // namespace
}  // namespace tierup::kernels
