#include "tierup/kernels/convolution/plane_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/guarded_fixture.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels {
namespace {

// From -1 to 1, the same for the same seed.
std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> result(static_cast<size_t>(count));
  for (float& x : result) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(seed >> 8) / 8388608.0F - 1.0F;
  }
  return result;
}

struct Sizes {
  IntVector input, weight, stride, padding, dilation;
  int64_t groups = 1;
};

struct Case {
  ConvGeometry g;
  std::vector<float> input, weight, bias;
};

Case case_of(const Sizes& s) {
  Case c;
  c.g = conv_geometry(s.input, s.weight, s.stride, s.padding, s.dilation, false, IntVector{0},
                      s.groups);
  c.input = numbers(c.g.batch * c.g.in_channels * c.g.in_points(), 1);
  c.weight = numbers(c.g.weights(), 2);
  c.bias = numbers(c.g.out_channels, 3);
  return c;
}

// Result number `index`, in double, of what the window covers of the image.
double window_sum(const Case& c, int64_t index) {
  const ConvGeometry& g = c.g;
  const int64_t x = index % g.out[2];
  const int64_t y = index / g.out[2] % g.out[1];
  const int64_t z = index / (g.out[2] * g.out[1]) % g.out[0];
  const int64_t plane = index / g.out_points();
  const int64_t channel = plane % g.out_channels;
  const int64_t in = g.in_channels / g.groups;
  const int64_t first =
      plane / g.out_channels * g.in_channels + channel / (g.out_channels / g.groups) * in;
  double sum = 0;
  for (int64_t k = 0; k < in * g.kernel_points(); ++k) {
    const int64_t column = k % g.kernel[2] * g.dilation[2] + x * g.stride[2] - g.padding[2];
    const int64_t row =
        k / g.kernel[2] % g.kernel[1] * g.dilation[1] + y * g.stride[1] - g.padding[1];
    const int64_t depth = k / (g.kernel[2] * g.kernel[1]) % g.kernel[0] * g.dilation[0] +
                          z * g.stride[0] - g.padding[0];
    if (column < 0 || column >= g.in[2] || row < 0 || row >= g.in[1]) continue;
    if (depth < 0 || depth >= g.in[0]) continue;
    const int64_t source = (first + k / g.kernel_points()) * g.in_points() +
                           (depth * g.in[1] + row) * g.in[2] + column;
    sum += static_cast<double>(c.input[static_cast<size_t>(source)]) *
           c.weight[static_cast<size_t>(channel * in * g.kernel_points() + k)];
  }
  return sum;
}

// Results over NaNs, and one number behind them that stays.
std::vector<float> run(const Case& c, bool has_bias, int threads) {
  const ThreadCountScope scope(threads);
  const auto count = static_cast<size_t>(c.g.batch * c.g.out_channels * c.g.out_points());
  std::vector<float> output(count + 1, std::nanf(""));
  output[count] = 77;
  convolve_planes(c.g, c.input.data(), c.weight.data(), has_bias ? c.bias.data() : nullptr,
                  output.data());
  EXPECT_EQ(output[count], 77);
  output.pop_back();
  return output;
}

void expect_window_sums(const Sizes& sizes) {
  const Case c = case_of(sizes);
  ASSERT_TRUE(can_convolve_planes(c.g));
  const std::vector<float> got = run(c, true, 1);
  const double depth = static_cast<double>(c.g.weights() / c.g.out_channels);
  for (size_t i = 0; i < got.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const auto channel = static_cast<size_t>(index / c.g.out_points() % c.g.out_channels);
    ASSERT_NEAR(got[i], window_sum(c, index) + c.bias[channel], 2e-7 * (depth + 4)) << index;
  }
  EXPECT_EQ(run(c, true, 2), got) << "cut for two threads";
  EXPECT_EQ(run(c, true, 7), got) << "cut for seven threads";
}

class PlaneConvolutionOn : public OnInstructionSet {};

TEST_P(PlaneConvolutionOn, DenseWindowsOfAwkwardSizes) {
  const std::vector<Sizes> all{
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1}, {0}, {1}},
      {{2, 40, 7, 7}, {50, 40, 1, 1}, {1}, {0}, {1}},
      {{1, 300, 5, 39}, {17, 300, 1, 1}, {1}, {0}, {1}},
      {{1, 24, 13, 13}, {9, 24, 1, 1}, {2}, {0}, {1}},
      {{1, 3, 31, 29}, {16, 3, 3, 3}, {2}, {1}, {1}},
      {{1, 3, 33, 40}, {12, 3, 7, 7}, {2}, {3}, {1}},
      {{1, 30, 14, 15}, {33, 30, 3, 3}, {1}, {1}, {1}},
      {{3, 5, 9, 11}, {8, 5, 3, 2}, {3, 2}, {2, 1}, {2, 3}},
      {{1, 2, 20, 450}, {6, 2, 3, 5}, {1, 1}, {1, 2}, {1, 1}},
      {{1, 2, 4, 900}, {6, 2, 1, 5}, {1, 2}, {0, 4}, {1, 1}},
      {{2, 3, 32, 32}, {20, 3, 8, 8}, {8}, {0}, {1}},
      {{1, 2, 9, 50}, {5, 2, 2, 12}, {4, 7}, {1, 5}, {1, 2}},
      {{1, 3, 6, 6}, {11, 3, 5, 5}, {1}, {4}, {2}},
      {{1, 6, 65}, {10, 6, 3}, {1}, {1}, {1}},
      {{1, 6, 700}, {10, 6, 10}, {5}, {0}, {1}},
      {{1, 2, 5, 5}, {4, 2, 5, 5}, {1}, {0}, {1}},
      {{1, 1, 40, 40}, {4, 1, 32, 32}, {1}, {0}, {1}},
      {{2, 32, 9, 9}, {64, 8, 3, 3}, {1}, {1}, {1}, 4},
      {{1, 3, 3, 3}, {9, 3, 3, 3}, {2}, {5}, {1}},
  };
  for (const Sizes& sizes : all) {
    SCOPED_TRACE(::testing::PrintToString(sizes.input) + ::testing::PrintToString(sizes.weight));
    expect_window_sums(sizes);
  }
}

TEST_P(PlaneConvolutionOn, SinglePlanesOfAwkwardSizes) {
  const std::vector<Sizes> all{
      {{1, 5, 7, 7}, {5, 1, 5, 5}, {1}, {2}, {1}, 5},
      {{2, 3, 28, 28}, {3, 1, 3, 3}, {1}, {1}, {1}, 3},
      {{1, 4, 29, 57}, {4, 1, 3, 3}, {2}, {1}, {1}, 4},
      {{1, 3, 112, 100}, {3, 1, 7, 7}, {1}, {3}, {1}, 3},
      {{1, 3, 15, 21}, {6, 1, 3, 3}, {2, 3}, {1, 0}, {2, 1}, 3},
      {{1, 4, 9, 33}, {12, 1, 1, 4}, {1, 1}, {0, 3}, {1, 2}, 4},
      {{1, 4, 9, 9}, {32, 1, 3, 3}, {1}, {1}, {1}, 4},
      {{1, 3, 9, 130}, {3, 1, 3, 5}, {1}, {1, 2}, {1}, 3},
      {{1, 3, 19, 83}, {3, 1, 7, 2}, {2}, {3, 1}, {1}, 3},
      {{1, 3, 6, 31}, {3, 1, 5, 8}, {1}, {2, 3}, {1}, 3},
      {{2, 2, 40, 150}, {4, 1, 5, 5}, {2}, {4}, {1}, 2},
      {{1, 2, 23, 48}, {2, 1, 7, 7}, {2}, {0}, {1}, 2},
      {{1, 2, 600, 10}, {2, 1, 3, 3}, {1}, {1}, {1}, 2},
      {{1, 7, 130}, {7, 1, 31}, {1}, {15}, {1}, 7},
      {{1, 2, 3, 3}, {2, 1, 3, 3}, {1}, {4}, {1}, 2},
      {{1, 1, 12, 12}, {1, 1, 3, 3}, {1}, {1}, {1}, 1},
      {{2, 3, 5, 9, 11}, {3, 1, 3, 3, 3}, {1}, {1}, {1}, 3},
      {{1, 3, 7, 6, 33}, {6, 1, 3, 2, 3}, {2, 1, 3}, {1, 0, 1}, {2, 1, 1}, 3},
      {{1, 2, 1, 8, 8}, {2, 1, 2, 3, 3}, {3}, {4}, {1}, 2},
      {{1, 2, 6, 4, 4}, {2, 1, 3, 1, 1}, {1}, {5, 0, 0}, {3, 1, 1}, 2},
  };
  for (const Sizes& sizes : all) {
    SCOPED_TRACE(::testing::PrintToString(sizes.input) + ::testing::PrintToString(sizes.weight));
    expect_window_sums(sizes);
  }
}

TEST_P(PlaneConvolutionOn, SmallPlanesOfAwkwardSizes) {
  const std::vector<Sizes> all{
      {{1, 16, 7, 7}, {16, 1, 5, 5}, {1}, {2}, {1}, 16},
      {{2, 21, 4, 3}, {21, 1, 3, 3}, {1}, {1}, {1}, 21},
      {{1, 37, 14, 14}, {37, 1, 3, 3}, {2}, {1}, {1}, 37},
      {{1, 20, 8, 8}, {20, 1, 3, 2}, {1, 3}, {2, 1}, {1}, 20},
      {{3, 9, 5, 7}, {9, 1, 3, 3}, {1}, {3}, {2, 3}, 9},
      {{1, 18, 1, 1}, {18, 1, 3, 3}, {1}, {1}, {1}, 18},
      {{1, 33, 11, 16}, {33, 1, 1, 4}, {1, 2}, {0}, {1}, 33},
      {{1, 17, 6, 6}, {17, 1, 2, 2}, {1}, {2}, {5}, 17},
      {{1, 40, 13}, {40, 1, 5}, {1}, {2}, {1}, 40},
      {{1, 24, 5, 4}, {24, 1, 3, 3}, {4}, {5}, {1}, 24},
  };
  for (const Sizes& sizes : all) {
    SCOPED_TRACE(::testing::PrintToString(sizes.input) + ::testing::PrintToString(sizes.weight));
    expect_window_sums(sizes);
  }
}

TEST_P(PlaneConvolutionOn, NothingBehindOperandsIsTouched) {
  GuardedFloats input;
  GuardedFloats weight;
  GuardedFloats bias;
  GuardedFloats output;
  const std::vector<Sizes> all{
      {{1, 19, 7, 7}, {19, 1, 3, 3}, {1}, {1}, {1}, 19},
      {{1, 3, 9, 29}, {3, 1, 3, 3}, {1}, {1}, {1}, 3},
      {{1, 3, 12, 70}, {3, 1, 5, 5}, {2}, {2}, {1}, 3},
      {{1, 3, 12, 33}, {3, 1, 7, 7}, {1}, {3}, {1}, 3},
      {{1, 3, 12, 20}, {6, 3, 3, 3}, {1}, {1}, {1}},
  };
  for (const Sizes& sizes : all) {
    const Case c = case_of(sizes);
    float* in = input.last(static_cast<int64_t>(c.input.size()));
    float* numbers = weight.last(c.g.weights());
    float* biases = bias.last(c.g.out_channels);
    const int64_t count = c.g.batch * c.g.out_channels * c.g.out_points();
    float* out = output.last(count);
    std::copy(c.input.begin(), c.input.end(), in);
    std::copy(c.weight.begin(), c.weight.end(), numbers);
    std::copy(c.bias.begin(), c.bias.end(), biases);
    convolve_planes(c.g, in, numbers, biases, out);
    EXPECT_EQ(std::vector<float>(out, out + count), run(c, true, 1));
  }
}

// Only windows that cover a number know of it.
TEST_P(PlaneConvolutionOn, NaNAndInfinityStayInTheirWindows) {
  const std::vector<Sizes> all{
      {{1, 4, 9, 20}, {8, 4, 3, 3}, {1}, {1}, {1}},
      {{1, 8, 9, 20}, {8, 8, 1, 1}, {1}, {0}, {1}},
      {{1, 4, 9, 20}, {4, 1, 3, 3}, {2}, {1}, {1}, 4},
      {{1, 4, 12, 40}, {4, 1, 3, 3}, {1}, {1}, {1}, 4},
      {{1, 16, 9, 7}, {16, 1, 3, 3}, {1}, {1}, {1}, 16},
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Sizes& sizes : all) {
    const Case plain = case_of(sizes);
    for (const float odd : {std::nanf(""), kInfinity, -kInfinity}) {
      Case c = plain;
      c.input[3 * 20 + 6] = odd;
      const std::vector<float> usual = run(plain, true, 1);
      const std::vector<float> got = run(c, true, 1);
      for (size_t i = 0; i < got.size(); ++i) {
        const double wanted = window_sum(c, static_cast<int64_t>(i));
        if (std::isnan(wanted)) {
          EXPECT_TRUE(std::isnan(got[i])) << i;
        } else if (std::isinf(wanted)) {
          EXPECT_EQ(got[i], static_cast<float>(wanted)) << i;
        } else {
          EXPECT_EQ(got[i], usual[i]) << i;
        }
      }
    }
  }
}

TEST_P(PlaneConvolutionOn, BiasComesLastAndMayBeMissing) {
  const Case c = case_of({{1, 30, 12, 12}, {8, 30, 3, 3}, {1}, {1}, {1}});
  const std::vector<float> without = run(c, false, 1);
  const std::vector<float> with = run(c, true, 1);
  for (size_t i = 0; i < with.size(); ++i) {
    ASSERT_EQ(with[i], without[i] + c.bias[i / 144]);
  }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, PlaneConvolutionOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

TEST(PlaneConvolution, LeavesOthersToOthers) {
  const auto can = [](const Sizes& s, bool transposed) {
    return can_convolve_planes(conv_geometry(s.input, s.weight, s.stride, s.padding, s.dilation,
                                             transposed, IntVector{0}, s.groups));
  };
  EXPECT_TRUE(can({{1, 8, 4, 4}, {8, 8, 3, 3}, {1}, {1}, {1}}, false));
  EXPECT_FALSE(can({{1, 8, 4, 4}, {8, 8, 3, 3}, {1}, {1}, {1}}, true));
  EXPECT_FALSE(can({{1, 8, 4, 4, 4}, {8, 8, 3, 3, 3}, {1}, {1}, {1}}, false));
  EXPECT_TRUE(can({{1, 8, 4, 4, 4}, {8, 1, 3, 3, 3}, {1}, {1}, {1}, 8}, false));
  EXPECT_FALSE(can({{1, 1, 90, 90}, {1, 1, 40, 40}, {1}, {0}, {1}}, false)) << "a huge window";
  EXPECT_FALSE(can({{1, 1, 1, 999}, {1, 1, 1, 40}, {1, 40}, {0}, {1}}, false)) << "40 phases";
  EXPECT_TRUE(can({{1, 64, 8, 8}, {64, 4, 3, 3}, {1}, {1}, {1}, 16}, false)) << "small groups";
}

}  // namespace
}  // namespace tierup::kernels
