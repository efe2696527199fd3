#include "tierup/kernels/indexing/advanced_index.h"

#include <gtest/gtest.h>

#include <limits>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

Tensor longs(const Longs& values) {
  return make_tensor<int64_t>({static_cast<int64_t>(values.size())}, values);
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

TEST(Index, TakesManyElementsByTwoIndices) {
  const int64_t count = 40001;
  const Tensor x = counted({5, 3, 7});
  std::vector<int64_t> first;
  std::vector<int64_t> second;
  for (int64_t i = 0; i < count; ++i) {
    first.push_back(i * 7919 % 8 - 3);
    second.push_back(i * 104729 % 3 - 1);
  }
  const Tensor at = longs(first);
  const Tensor beside = longs(second);
  const Tensor element = index(x, {at, beside, beside});
  const Tensor run = index(x, {at, beside});
  const Tensor apart = index(x, {at, Tensor(), beside});
  const Tensor inner = index(x, {Tensor(), beside, beside});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t a = (first[i] + 5) % 5;
    const int64_t b = (second[i] + 3) % 3;
    const int64_t c = (second[i] + 7) % 7;
    ASSERT_EQ(element.data<float>()[i], static_cast<float>((a * 3 + b) * 7 + c));
    for (int64_t j = 0; j < 7; ++j)
      ASSERT_EQ(run.data<float>()[i * 7 + j], static_cast<float>((a * 3 + b) * 7 + j));
    for (int64_t j = 0; j < 3; ++j)
      ASSERT_EQ(apart.data<float>()[i * 3 + j], static_cast<float>((a * 3 + j) * 7 + c));
    for (int64_t j = 0; j < 5; ++j)
      ASSERT_EQ(inner.data<float>()[j * count + i], static_cast<float>((j * 3 + b) * 7 + c));
  }
  first[count - 1] = 5;
  EXPECT_THROW(index(x, {longs(first), beside}), Error);
  EXPECT_THROW(index(counted({5, 3, 0}), {longs(first), beside}), Error);
}

// Of few and of many index elements: the table is put in order for the many.
TEST(Index, TakesRowsOfTablesThatLieTurned) {
  const Tensor turned = transpose(counted({3, 2, 5}), 1, 2);  // [3, 5, 2]
  const Tensor dense = contiguous(turned);
  for (const int64_t count : {1, 3, 40}) {
    Longs rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(i * 7 % 5 - (i % 2 == 0 ? 0 : 5));
    const Longs images(rows.size(), 1);
    for (const std::vector<Tensor>& at : {std::vector<Tensor>{Tensor(), longs(rows)},
                                          {longs(images), longs(rows)},
                                          {longs(images), Tensor(), longs(images)}}) {
      EXPECT_EQ(values_of<float>(index(turned, at)), values_of<float>(index(dense, at))) << count;
    }
    EXPECT_THROW(index(turned, {Tensor(), longs(Longs(rows.size(), 5))}), Error);
  }
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

}  // namespace
}  // namespace tierup::kernels
