#include "tierup/kernels/pooling/max_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"

namespace tierup::kernels {
namespace {

Tensor numbers(const IntVector& sizes) {
  const Tensor result = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = static_cast<float>((i * 7919) % 1009) - 500.0F;
  }
  return result;
}

// The form without indices works on whole lines, the other window by window.
TEST(MaxPool, LinesGiveWhatWindowsGive) {
  for (const int64_t kernel : {1, 2, 3}) {
    for (const int64_t stride : {1, 2, 4}) {
      for (const int64_t dilation : {1, 2}) {
        for (const bool ceil_mode : {false, true}) {
          const Tensor x = numbers({2, 3, 11, 13});
          x.data<float>()[40] = std::nanf("");
          const IntVector padding{kernel / 2};
          const Tensor lines = max_pool<2>(x, {kernel}, {stride}, padding, {dilation}, ceil_mode);
          const Tensor windows = std::get<0>(
              max_pool_with_indices<2>(x, {kernel}, {stride}, padding, {dilation}, ceil_mode));
          ASSERT_EQ(shape_string(lines.sizes()), shape_string(windows.sizes()));
          for (int64_t i = 0; i < lines.numel(); ++i) {
            const float a = lines.data<float>()[i];
            const float b = windows.data<float>()[i];
            ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i;
          }
        }
      }
    }
  }
}

// The first of the largest, by its place in the plane; a NaN is larger than anything, and a later
// one than an earlier.
struct Largest {
  float value = -std::numeric_limits<float>::infinity();
  int64_t place = -1;
};

Largest largest_of_window(const Tensor& x, int64_t plane, IntVector first, int64_t kernel,
                          int64_t dilation) {
  Largest best;
  for (int64_t i = 0; i < kernel * kernel; ++i) {
    const int64_t row = first[0] + i / kernel * dilation;
    const int64_t column = first[1] + i % kernel * dilation;
    if (row < 0 || row >= x.size(2) || column < 0 || column >= x.size(3)) continue;
    const int64_t place = row * x.size(3) + column;
    const float value = x.data<float>()[plane * x.size(2) * x.size(3) + place];
    if (best.place >= 0 && !(value > best.value) && !std::isnan(value)) continue;
    best = {value, place};
  }
  return best;
}

void expect_first_largest(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding,
                          int64_t dilation) {
  const auto [values, indices] =
      max_pool_with_indices<2>(x, {kernel}, {stride}, {padding}, {dilation}, true);
  const int64_t rows = values.size(2);
  const int64_t columns = values.size(3);
  for (int64_t i = 0; i < values.numel(); ++i) {
    const IntVector first{i / columns % rows * stride - padding, i % columns * stride - padding};
    const Largest wanted = largest_of_window(x, i / (rows * columns), first, kernel, dilation);
    ASSERT_EQ(indices.data<int64_t>()[i], wanted.place)
        << shape_string(x.sizes()) << kernel << stride << padding << dilation;
    const float value = values.data<float>()[i];
    ASSERT_TRUE(value == wanted.value || std::isnan(wanted.value));
  }
}

// Planes whose rows are parts of a vector, and several; with a border of windows and without.
TEST(MaxPool, IndicesAreThoseOfTheFirstLargest) {
  for (const IntVector& plane :
       {IntVector{11, 13}, IntVector{8, 8}, IntVector{5, 4}, IntVector{6, 40}, IntVector{3, 150}}) {
    const Tensor x = numbers({2, 3, plane[0], plane[1]});
    for (int64_t i = 0; i < x.numel(); ++i)
      x.data<float>()[i] = std::floor(x.data<float>()[i] / 250);
    for (const int64_t i : {40, 41, 110}) x.data<float>()[i] = std::nanf("");
    for (int64_t i = 60; i < 100; ++i) x.data<float>()[i] = -std::numeric_limits<float>::infinity();
    for (const int64_t kernel : {1, 2, 3}) {
      for (const int64_t stride : {1, 2, 4}) {
        for (const int64_t dilation : {1, 2}) {
          if ((kernel - 1) * dilation >= std::min(plane[0], plane[1])) continue;
          expect_first_largest(x, kernel, stride, kernel / 2, dilation);
          expect_first_largest(x, kernel, stride, 0, dilation);
        }
      }
    }
  }
}

// Ties, NaNs and infinities; windows that overlap, and more of them than there are columns.
TEST(MaxPool, AdaptiveWindowsFindTheFirstLargest) {
  const Tensor x = numbers({2, 3, 11, 13});
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = std::floor(x.data<float>()[i] / 250);
  for (const int64_t i : {40, 41, 160}) x.data<float>()[i] = std::nanf("");
  for (int64_t i = 440; i < 572; ++i) x.data<float>()[i] = -std::numeric_limits<float>::infinity();
  for (const IntVector& wanted : {IntVector{2, 3}, IntVector{1, 1}, IntVector{11, 13},
                                  IntVector{4, 20}, IntVector{3, 5}, IntVector{11, 4}}) {
    const auto [values, indices] = adaptive_max_pool<2>(x, wanted);
    const auto begin = [](int64_t i, int64_t in, int64_t out) { return i * in / out; };
    const auto end = [](int64_t i, int64_t in, int64_t out) {
      return ((i + 1) * in + out - 1) / out;
    };
    for (int64_t i = 0; i < values.numel(); ++i) {
      const int64_t row = i / wanted[1] % wanted[0];
      const int64_t column = i % wanted[1];
      const float* plane = x.data<float>() + i / (wanted[0] * wanted[1]) * 143;
      Largest best;
      for (int64_t y = begin(row, 11, wanted[0]); y < end(row, 11, wanted[0]); ++y) {
        for (int64_t c = begin(column, 13, wanted[1]); c < end(column, 13, wanted[1]); ++c) {
          const float value = plane[y * 13 + c];
          if (best.place < 0 || value > best.value || std::isnan(value)) best = {value, y * 13 + c};
        }
      }
      ASSERT_EQ(indices.data<int64_t>()[i], best.place) << i << " of " << shape_string(wanted);
      ASSERT_TRUE(values.data<float>()[i] == best.value || std::isnan(best.value));
    }
  }
}

TEST(MaxPool, AdaptiveWindowsGiveTheFirstOfEqualZeros) {
  const Tensor x = numbers({1, 1, 2, 2});
  const float window[] = {-1, -0.0F, 0.0F, -1};
  std::copy_n(window, 4, x.data<float>());
  const auto [values, indices] = adaptive_max_pool<2>(x, {1, 1});
  EXPECT_EQ(indices.data<int64_t>()[0], 1);
  EXPECT_TRUE(std::signbit(values.data<float>()[0]));
}

TEST(MaxPool, AHugeKernelNeedsNoMemory) {
  const int64_t huge = int64_t{1} << 30;
  const Tensor out = max_pool<2>(numbers({1, 1, 4, 4}), {huge, huge}, {huge, huge},
                                 {huge / 2, huge / 2}, {1, 1}, false);
  EXPECT_EQ(out.numel(), 1);
}

TEST(MaxPool, RefusesPaddingAboveHalfTheKernel) {
  EXPECT_THROW(max_pool<2>(numbers({1, 1, 4, 4}), {2}, {2}, {2}, {1}, false), Error);
  EXPECT_THROW(max_pool<2>(numbers({1, 1, 4, 4}), {6}, {1}, {0}, {1}, false), Error);
  EXPECT_THROW(max_unpool2d(numbers({1, 1, 1, 1}),
                            Tensor::scalar(Scalar(int64_t{99}))
                                .as_view(IntVector{1, 1, 1, 1}, IntVector{1, 1, 1, 1}, 0),
                            {2, 2}),
               Error);
}

}  // namespace
}  // namespace tierup::kernels
