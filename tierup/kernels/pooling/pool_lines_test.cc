// Pooling of floats by lines against that of doubles, which goes window by window.
#include "tierup/kernels/pooling/pool_lines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tierup/kernels/memory/copy.h"
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
}

}  // namespace
}  // namespace tierup::kernels
