// Pooling of floats by lines against that of doubles, which goes window by window.
#include "tierup/kernels/pooling/pool_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/guarded_fixture.h"
#include "tierup/kernels/memory/small_tensors.h"
#include "tierup/kernels/pooling/avg_pool.h"
#include "tierup/kernels/pooling/max_pool.h"

namespace tierup::kernels {
namespace {

Tensor image(const IntVector& sizes) {
  const Tensor t = Tensor::empty(sizes, ScalarType::kFloat);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>(i * 7919 % 1009) / 100 - 5;
  return t;
}

void expect_near(const Tensor& floats, const Tensor& doubles, const std::string& what) {
  const auto found = values_of<float>(contiguous(floats));
  const auto wanted = values_of<double>(contiguous(doubles));
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(wanted[i])) {
      ASSERT_TRUE(std::isnan(found[i])) << what << " " << i;
    } else if (found[i] != wanted[i]) {
      ASSERT_NEAR(found[i], wanted[i], 1e-5) << what << " " << i;
    }
  }
}

struct Window {
  int64_t kernel, stride, padding, dilation;
};
constexpr Window kWindows[] = {{1, 1, 0, 1}, {2, 2, 0, 1}, {3, 1, 1, 1}, {3, 2, 1, 1},
                               {3, 3, 0, 2}, {5, 2, 2, 1}, {2, 5, 1, 3}, {4, 4, 2, 1},
                               {3, 1, 1, 5}, {7, 3, 3, 1}};

TEST(PoolLines, GiveWhatWindowsOneByOneGive) {
  for (const int64_t width : {11, 16, 35, 64, 130}) {
    const Tensor x = image({2, 3, 13, width});
    const Tensor wide = to_dtype(x, ScalarType::kDouble);
    for (const Window& w : kWindows) {
      for (const bool ceils : {false, true}) {
        SCOPED_TRACE(testing::Message() << width << " by " << w.kernel << " step " << w.stride
                                        << " padding " << w.padding << " apart " << w.dilation);
        const IntVector k{w.kernel};
        const IntVector s{w.stride};
        const IntVector p{w.padding};
        if (width > w.dilation * (w.kernel - 1) + 1 && 13 > w.dilation * (w.kernel - 1) + 1) {
          expect_near(max_pool<2>(x, k, s, p, {w.dilation}, ceils),
                      max_pool<2>(wide, k, s, p, {w.dilation}, ceils), "max");
        }
        for (const bool counts : {false, true}) {
          expect_near(avg_pool<2>(x, k, s, p, ceils, counts, std::nullopt),
                      avg_pool<2>(wide, k, s, p, ceils, counts, std::nullopt), "average");
        }
        expect_near(avg_pool<2>(x, k, s, p, ceils, true, -3),
                    avg_pool<2>(wide, k, s, p, ceils, true, -3), "own divisor");
      }
    }
  }
}

// As many as fill lanes, and some more.
TEST(PoolLines, GiveOfManySmallPlanesWhatWindowsOneByOneGive) {
  for (const int64_t width : {1, 2, 5, 7, 8, 11, 16}) {
    const Tensor x = image({3, 11, 5, width});
    const Tensor wide = to_dtype(x, ScalarType::kDouble);
    for (const Window& w : kWindows) {
      SCOPED_TRACE(testing::Message() << width << " by " << w.kernel << " step " << w.stride
                                      << " padding " << w.padding << " apart " << w.dilation);
      const int64_t kernel_width = std::min(w.kernel, width);
      const IntVector k{std::min<int64_t>(w.kernel, 5), kernel_width};
      const IntVector s{w.stride, w.stride};
      const IntVector p{std::min<int64_t>(w.padding, k[0] / 2),
                        std::min(w.padding, kernel_width / 2)};
      const IntVector d{k[0] > 2 ? 1 : w.dilation, kernel_width > 2 ? 1 : w.dilation};
      if (width + 2 * p[1] > d[1] * (kernel_width - 1) && 5 + 2 * p[0] > d[0] * (k[0] - 1)) {
        expect_near(max_pool<2>(x, k, s, p, d, false), max_pool<2>(wide, k, s, p, d, false), "max");
      }
      for (const bool counts : {false, true}) {
        expect_near(avg_pool<2>(x, k, s, p, true, counts, std::nullopt),
                    avg_pool<2>(wide, k, s, p, true, counts, std::nullopt), "average");
      }
    }
  }
}

TEST(PoolLines, TouchNothingBehindInputOrOutput) {
  GuardedFloats input;
  GuardedFloats output;
  for (const int64_t planes : {2, 33}) {
    for (const int64_t width : {3, 7, 16, 17, 35}) {
      for (const int64_t stride : {1, 2, 3}) {
        PoolWindow w;
        w.planes = planes;
        w.in = {1, 4, width};
        w.kernel = {1, 2, 3};
        w.stride = {1, 1, stride};
        w.padding = {0, 0, 1};
        w.out = {1, 3, (width - 1) / stride + 1};
        float* in = input.last(w.planes * w.in_points());
        float* out = output.last(w.planes * w.out_points());
        for (int64_t i = 0; i < w.planes * w.in_points(); ++i) in[i] = static_cast<float>(i);
        pool_lines(w, pool_kernels().max, in, out);
        // The last window's largest is the last number that it reaches.
        const int64_t reach = std::min((w.out[2] - 1) * stride + 1, width - 1);
        EXPECT_EQ(out[w.planes * w.out_points() - 1],
                  static_cast<float>(w.planes * w.in_points() - width + reach));
        const std::vector<float> ones(static_cast<size_t>(w.out_points()), 1);
        pool_lines(w, pool_kernels().average, in, out, ones.data(), ones.data());
        EXPECT_EQ(out[0], static_cast<float>(2 * (0 + width + 1)));
      }
    }
  }
}

TEST(PoolLines, GoThroughSignalsAndVolumes) {
  const Tensor signal = image({3, 5, 101});
  expect_near(avg_pool1d(signal, {5}, {3}, {2}, false, false),
              avg_pool1d(to_dtype(signal, ScalarType::kDouble), {5}, {3}, {2}, false, false), "1d");
  const Tensor volume = image({1, 2, 7, 9, 21});
  const Tensor wide = to_dtype(volume, ScalarType::kDouble);
  expect_near(avg_pool<3>(volume, {3, 2, 3}, {2, 2, 1}, {1, 0, 1}, true, true, std::nullopt),
              avg_pool<3>(wide, {3, 2, 3}, {2, 2, 1}, {1, 0, 1}, true, true, std::nullopt), "3d");
  expect_near(max_pool<3>(volume, {3, 2, 3}, {2, 2, 1}, {1, 0, 1}, {1, 2, 1}, false),
              max_pool<3>(wide, {3, 2, 3}, {2, 2, 1}, {1, 0, 1}, {1, 2, 1}, false), "3d");
}

TEST(PoolLines, AveragesOfWholePlanesAndOfEvenParts) {
  for (const int64_t planes : {1, 3, 16, 37}) {
    for (const int64_t side : {1, 3, 7, 20, 40}) {
      const Tensor x = image({planes, side, side});
      const Tensor wide = to_dtype(x, ScalarType::kDouble);
      for (const int64_t parts : {int64_t{1}, side, (side + 1) / 2}) {
        expect_near(adaptive_avg_pool<2>(x, {parts, parts}),
                    adaptive_avg_pool<2>(wide, {parts, parts}), "adaptive");
      }
      expect_near(avg_pool<2>(x, {side}, {side}, {0}, false, true, std::nullopt),
                  avg_pool<2>(wide, {side}, {side}, {0}, false, true, std::nullopt), "whole");
    }
  }
}

TEST(PoolLines, ANanIsTheLargestOfItsWindowsAlone) {
  const Tensor x = image({1, 1, 6, 40});
  x.data<float>()[2 * 40 + 17] = std::numeric_limits<float>::quiet_NaN();
  expect_near(max_pool<2>(x, {3}, {2}, {1}, {1}, false),
              max_pool<2>(to_dtype(x, ScalarType::kDouble), {3}, {2}, {1}, {1}, false), "nan");
  const Tensor small = image({40, 6, 7});
  small.data<float>()[17 * 42 + 9] = std::numeric_limits<float>::quiet_NaN();
  expect_near(max_pool<2>(small, {3}, {2}, {1}, {1}, false),
              max_pool<2>(to_dtype(small, ScalarType::kDouble), {3}, {2}, {1}, {1}, false), "nan");
}

}  // namespace
}  // namespace tierup::kernels
