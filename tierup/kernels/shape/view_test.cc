#include "tierup/kernels/shape/view.h"

#include <gtest/gtest.h>

#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view_scatter.h"

namespace tierup::kernels {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<int64_t>;

TEST(View, InfersOneSizeAndSharesStorage) {
  const Tensor x = counted({2, 6});
  const Tensor y = view(x, {3, -1});
  EXPECT_EQ(sizes_of(y), (Sizes{3, 4}));
  EXPECT_EQ(y.storage(), x.storage());
}

TEST(View, RefusesWhatNeedsACopyAndReshapeMakesIt) {
  const Tensor x = transpose(counted({2, 3}), 0, 1);
  EXPECT_NE(message_of([&] { view(x, {6}); }).find("Use .reshape(...)"), std::string::npos);
  EXPECT_EQ(values_of<float>(reshape(x, {6})), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(View, NamesShapeAndElementsOfAnImpossibleView) {
  EXPECT_EQ(message_of([] {
              view(counted({5}), {2, 3});
            }),
            "shape '[2, 3]' is invalid for input of size 5");
  EXPECT_NE(message_of([] { view(counted({4}), {INT64_MAX, 4}); }), "");
}

TEST(View, MovesDimensions) {
  EXPECT_EQ(sizes_of(movedim(counted({2, 3, 4}), {0, 1}, {2, 0})), (Sizes{3, 4, 2}));
  EXPECT_NE(message_of([] { permute(counted({2, 3}), {0, 0}); }), "");
}

TEST(View, AsStridedStaysInsideTheStorage) {
  EXPECT_THROW(as_strided(counted({4}), {3}, {2}, std::nullopt), Error);
  EXPECT_THROW(as_strided(counted({4}), {2}, {-1}, 1), Error);
}

TEST(Slicing, ClampsBoundsAsPythonDoes) {
  const Tensor x = counted({5});
  EXPECT_EQ(values_of<float>(slice(x, 0, -3, INT64_MAX, 2)), (Floats{2, 4}));
  EXPECT_EQ(slice(x, 0, 4, 1, 1).numel(), 0);
  EXPECT_EQ(values_of<float>(slice(x, 0, 1, {}, INT64_MAX)), (Floats{1}));
}

TEST(Slicing, SelectNamesIndexSizeAndDimension) {
  EXPECT_EQ(message_of([] { select(counted({3}), 0, 5); }),
            "select(): index 5 out of range for tensor of size [3] at dimension 0");
}

TEST(Slicing, SplitsWithARest) {
  const auto parts = split(counted({5}), 2, 0);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(values_of<float>(parts[2]), (Floats{4}));
  EXPECT_THROW(split_with_sizes(counted({5}), {INT64_MAX, INT64_MAX}, 0), Error);
}

TEST(Slicing, TakesDiagonalsBelowAndAbove) {
  EXPECT_EQ(values_of<float>(diagonal(counted({3, 3}), -1, 0, 1)), (Floats{3, 7}));
  EXPECT_EQ(diagonal(counted({3, 3}), INT64_MIN, 0, 1).numel(), 0);
}

TEST(ViewScatter, LeavesTheOriginalAlone) {
  const Tensor x = counted({3});
  const Tensor y = select_scatter(x, counted({}), 0, 1);
  EXPECT_EQ(values_of<float>(y), (Floats{0, 0, 2}));
  EXPECT_EQ(values_of<float>(x), (Floats{0, 1, 2}));
}

TEST(PixelShuffle, RefusesFactorsAndSizesWhoseProductsHaveNo64Bits) {
  EXPECT_EQ(
      message_of([] {
        pixel_shuffle(counted({1, 4, 2, 2}), INT64_MAX);
      }),
      "pixel_shuffle expects an upscale_factor of at most 65536, but got 9223372036854775807");
  constexpr int64_t kLong = int64_t{1} << 62;
  const auto refuses = [](IntVector sizes, const auto& shuffle) {
    const Tensor empty = Tensor::empty(sizes, ScalarType::kFloat);
    EXPECT_NE(message_of([&] { shuffle(empty, 2); }).find("no product of 64 bits"),
              std::string::npos);
  };
  refuses({0, 4, kLong, 2}, pixel_shuffle);
  refuses({kLong, kLong, 4, 0, 2}, pixel_shuffle);
  refuses({0, kLong, 2, 2}, pixel_unshuffle);
}

}  // namespace
}  // namespace tierup::kernels
