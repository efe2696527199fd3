#include "tierup/kernels/net/panel_convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/convolution_fixture.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

struct Case {
  PanelConvolution problem;
  std::vector<float> source, weight, bias, before;
};

Case case_of(const PanelConvolution& p) {
  return {p, numbers(p.source_count(), 1), numbers(p.out_channels * p.depth(), 2),
          numbers(p.out_channels, 3), numbers(p.target_count(), 4)};
}

// The sum over one window, in double.
double window_sum(const Case& c, int64_t row, int64_t o) {
  const PanelConvolution& p = c.problem;
  const int64_t windows = p.kernel_height * p.kernel_width;
  double sum = c.bias[static_cast<size_t>(o)];
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t y = row / p.out_width % p.out_height * p.stride_y +
                      i / p.kernel_width * p.dilation_y - p.pad_top;
    const int64_t x =
        row % p.out_width * p.stride_x + i % p.kernel_width * p.dilation_x - p.pad_left;
    if (y < 0 || y >= p.height || x < 0 || x >= p.width) continue;
    const int64_t image = row / (p.out_width * p.out_height);
    const int64_t point = ((image * p.height + y) * p.width + x) * p.in_channels;
    for (int64_t k = 0; k < p.in_channels; ++k) {
      sum += static_cast<double>(c.source[static_cast<size_t>(point + k)]) *
             c.weight[static_cast<size_t>((o * p.in_channels + k) * windows + i)];
    }
  }
  return sum;
}

// Results over a target that held `before`, and scratch of NaNs; one number behind each that stays.
std::vector<float> run(const Case& c, const std::vector<StoreStep>& steps, int threads) {
  const PanelConvolution& p = c.problem;
  const ThreadCountScope scope(threads);
  const ConvolutionPlan plan = plan_convolution(p, threads);
  std::vector<float> packed(static_cast<size_t>(convolution_weight_count(p)));
  pack_convolution_weight(p, c.weight.data(), nullptr, packed.data());
  const auto source = block_of(c.source);
  const auto weights = block_of(packed);
  std::vector<float> biases = c.bias;
  biases.resize(static_cast<size_t>(grouped_channels(p.out_channels)), 0);
  const auto bias = block_of(biases);
  std::vector<float> room = c.before;
  room.push_back(77);
  const auto target = block_of(room);
  std::vector<float> nothing(static_cast<size_t>(plan.scratch()), std::nanf(""));
  nothing.push_back(78);
  const auto scratch = block_of(nothing);
  run_convolution(p, plan, floats(source), floats(weights), floats(bias), steps, floats(target),
                  floats(scratch));
  EXPECT_EQ(floats(target)[p.target_count()], 77);
  EXPECT_EQ(floats(scratch)[plan.scratch()], 78);
  return {floats(target), floats(target) + p.target_count()};
}

class PanelConvolutionOn : public OnInstructionSet {};

TEST_P(PanelConvolutionOn, AwkwardSizesGiveWhatWindowsGive) {
  // batch, height, width, in; out height, width, channels; kernel; stride; dilation; padding
  const std::vector<PanelConvolution> problems{
      {1, 1, 1, 1, 1, 1, 32, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 7, 7, 512, 7, 7, 64, 1, 1, 1, 1, 1, 1, 0, 0},
      {2, 5, 9, 130, 3, 5, 96, 3, 3, 2, 2, 1, 1, 1, 1},
      {1, 6, 5, 3, 3, 3, 160, 7, 7, 2, 2, 1, 1, 3, 3},
      {3, 8, 4, 17, 8, 4, 32, 3, 1, 1, 1, 2, 1, 2, 0},
      {1, 9, 9, 40, 3, 9, 224, 1, 5, 3, 1, 1, 1, 0, 2},
      {1, 30, 31, 16, 30, 31, 144, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 3, 5, 300, 3, 5, 16, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 7, 7, 140, 7, 7, 112, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 5, 7, 1024, 5, 7, 80, 1, 1, 1, 1, 1, 1, 0, 0},
      {2, 5, 9, 48, 3, 5, 96, 1, 1, 2, 2, 1, 1, 0, 0},
      {1, 8, 6, 20, 5, 3, 32, 1, 1, 2, 3, 1, 1, 1, 2},
      {2, 5, 7, 40, 3, 4, 272, 3, 3, 2, 2, 1, 1, 1, 1},
      {1, 7, 5, 24, 3, 2, 256, 3, 3, 1, 1, 2, 2, 0, 1},
      // Most of the window lies outside, for some rows or for all.
      {2, 16, 16, 40, 16, 16, 48, 3, 3, 1, 1, 12, 12, 12, 12},
      {1, 9, 11, 200, 9, 11, 32, 3, 3, 1, 1, 24, 24, 24, 24},
      {1, 20, 7, 33, 20, 7, 64, 3, 3, 1, 1, 11, 5, 11, 5},
      {3, 4, 4, 70, 2, 2, 32, 2, 2, 3, 3, 9, 9, 5, 5},
      {1, 3, 3, 18, 4, 4, 16, 2, 2, 1, 1, 9, 9, 6, 6},
      {1, 2, 1, 16, 2, 1, 32, 3, 3, 1, 1, 1, 1, 1, 1},
      {1, 1, 2, 16, 1, 2, 96, 3, 3, 1, 1, 1, 1, 1, 1},
      // Channels that are left over of the last group.
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0},
      {3, 11, 7, 20, 11, 7, 50, 5, 5, 1, 1, 1, 1, 2, 2},
      {2, 6, 5, 33, 6, 5, 3, 3, 3, 1, 1, 1, 1, 1, 1},
      {1, 30, 31, 40, 30, 31, 85, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 5, 7, 1100, 5, 7, 70, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 9, 11, 200, 9, 11, 21, 3, 3, 1, 1, 24, 24, 24, 24},
      {2, 5, 7, 40, 3, 4, 277, 3, 3, 2, 2, 1, 1, 1, 1},
      // Lines, whose windows are read where they are, but for those at the ends.
      {1, 1, 300, 12, 1, 300, 12, 1, 3, 1, 1, 1, 1, 0, 1},
      {2, 1, 700, 24, 1, 700, 24, 1, 11, 1, 1, 1, 5, 0, 25},
      {1, 1, 431, 48, 1, 215, 50, 1, 7, 1, 2, 1, 1, 0, 2},
      {3, 1, 250, 5, 1, 125, 80, 1, 4, 1, 2, 1, 3, 0, 4},
      {1, 1, 203, 700, 1, 201, 16, 1, 3, 1, 1, 1, 1, 0, 0},
      {1, 1, 210, 530, 1, 206, 32, 1, 3, 1, 1, 1, 3, 0, 1},
      {1, 1, 400, 20, 1, 200, 33, 1, 1, 1, 2, 1, 1, 0, 0},
  };
  for (const PanelConvolution& problem : problems) {
    const Case c = case_of(problem);
    for (const int threads : {1, 2, 3}) {
      const std::vector<float> got = run(c, {}, threads);
      for (int64_t i = 0; i < problem.target_count(); ++i) {
        const double wanted = window_sum(c, i / problem.out_channels, i % problem.out_channels);
        ASSERT_NEAR(got[static_cast<size_t>(i)], wanted, 2e-4)
            << i << " of " << problem.in_channels;
      }
    }
  }
}

// The case with its source as planes.
Case planar(Case c) {
  PanelConvolution& p = c.problem;
  p.is_planar = true;
  const std::vector<float> points = c.source;
  const int64_t size = p.height * p.width;
  for (int64_t i = 0; i < p.source_count(); ++i) {
    const int64_t image = i / (size * p.in_channels);
    const int64_t channel = i / size % p.in_channels;
    const int64_t from = (image * size + i % size) * p.in_channels + channel;
    c.source[static_cast<size_t>(i)] = points[static_cast<size_t>(from)];
  }
  return c;
}

// A page apart, where first-level caches have few places: such rows are gathered with gaps.
TEST_P(PanelConvolutionOn, RowsAPageApartGiveWhatWindowsGive) {
  for (const PanelConvolution& p :
       {PanelConvolution{1, 1, 13, 1024, 1, 13, 272, 1, 1, 1, 1, 1, 1, 0, 0},
        PanelConvolution{1, 1, 7, 2048, 1, 7, 256, 1, 1, 1, 1, 1, 1, 0, 0},
        PanelConvolution{1, 4, 4, 256, 3, 3, 256, 2, 2, 1, 1, 1, 1, 0, 0},
        PanelConvolution{1, 5, 5, 1024, 3, 3, 32, 1, 1, 2, 2, 1, 1, 0, 0}}) {
    const Case c = case_of(p);
    for (const int threads : {1, 3}) {
      const std::vector<float> got = run(c, {}, threads);
      for (size_t i = 0; i < got.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        ASSERT_NEAR(got[i], window_sum(c, at / p.out_channels, at % p.out_channels), 1e-3) << at;
      }
    }
  }
}

TEST_P(PanelConvolutionOn, PlanesGiveWhatPointsGive) {
  // batch, height, width, in; out height, width, channels; kernel; stride; dilation; padding
  const std::vector<PanelConvolution> problems{
      {1, 1, 1, 1, 1, 1, 16, 1, 1, 1, 1, 1, 1, 0, 0},
      {1, 6, 5, 3, 3, 3, 160, 7, 7, 2, 2, 1, 1, 3, 3},
      {2, 40, 75, 3, 20, 38, 16, 3, 3, 2, 2, 1, 1, 1, 1},
      {2, 40, 75, 3, 20, 38, 21, 3, 3, 2, 2, 1, 1, 1, 1},
      {1, 9, 70, 2, 9, 70, 48, 3, 3, 1, 1, 1, 1, 1, 1},
      {2, 8, 40, 5, 4, 13, 32, 3, 5, 2, 3, 1, 2, 1, 2},
      {1, 20, 66, 15, 10, 33, 80, 5, 5, 2, 2, 1, 1, 2, 2},
      {1, 4, 33, 3, 2, 33, 16, 2, 9, 2, 2, 1, 1, 0, 20},
  };
  for (const PanelConvolution& problem : problems) {
    const Case c = case_of(problem);
    for (const int threads : {1, 2, 3}) EXPECT_EQ(run(planar(c), {}, threads), run(c, {}, threads));
  }
}

TEST_P(PanelConvolutionOn, StoresThroughEachStep) {
  using Kind = StoreStep::Kind;
  const std::vector<StoreStep> steps{
      {Kind::kLinear, 0.5F, 3}, {Kind::kSum}, {Kind::kRelu}, {Kind::kClip, 1, 6}};
  for (const int64_t channels : {64, 70, 5}) {
    const Case c = case_of({1, 7, 5, 200, 7, 5, channels, 1, 1, 1, 1, 1, 1, 0, 0});
    const std::vector<float> got = run(c, steps, 2);
    for (size_t i = 0; i < got.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const double x = window_sum(c, at / channels, at % channels) * 0.5 + 3 + c.before[i];
      ASSERT_NEAR(got[i], std::clamp(std::max(x, 0.0), 1.0, 6.0), 2e-4);
    }
  }
}

TEST_P(PanelConvolutionOn, StoresThroughGates) {
  using Kind = StoreStep::Kind;
  const Case c = case_of({1, 3, 5, 40, 3, 5, 48, 1, 1, 1, 1, 1, 1, 0, 0});
  const std::vector<float> swish = run(c, {{Kind::kSwish}}, 2);
  const std::vector<float> hardswish = run(c, {{Kind::kHardswish}}, 2);
  for (size_t i = 0; i < swish.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double x = window_sum(c, at / 48, at % 48);
    ASSERT_NEAR(swish[i], x / (1 + std::exp(-x)), 2e-5);
    ASSERT_NEAR(hardswish[i], x * std::clamp(x + 3, 0.0, 6.0) / 6, 2e-5);
  }
}

TEST_P(PanelConvolutionOn, StoresThroughFunctions) {
  using Kind = StoreStep::Kind;
  const float infinity = std::numeric_limits<float>::infinity();
  Case c = case_of({1, 20, 30, 1, 20, 30, 16, 1, 1, 1, 1, 1, 1, 0, 0});
  for (float& x : c.source) x *= 12;
  std::copy_n(std::vector<float>{infinity, -infinity, 1e20F, -1e20F, 1e-6F, -1e-6F, 0}.begin(), 7,
              c.source.begin());
  const std::vector<float> plain = run(c, {}, 2);
  const auto check = [&](const StoreStep& step, const auto& function) {
    const std::vector<float> got = run(c, {step}, 2);
    for (size_t i = 0; i < plain.size(); ++i) {
      if (std::isnan(plain[i])) continue;
      const double wanted = function(static_cast<double>(plain[i]));
      if (std::isinf(wanted)) {
        ASSERT_EQ(got[i], wanted);
      } else {
        ASSERT_NEAR(got[i], wanted, 1e-6 * std::abs(wanted) + 1e-37) << plain[i];
      }
    }
  };
  check({Kind::kLeakyRelu, 0.1F}, [](double x) { return x < 0 ? x * 0.1F : x; });
  check({Kind::kElu, 0.7F}, [](double x) { return x < 0 ? 0.7F * std::expm1(x) : x; });
  check({Kind::kSigmoid}, [](double x) { return 1 / (1 + std::exp(-x)); });
  check({Kind::kTanh}, [](double x) { return std::tanh(x); });
}

double gelu(StoreStep::Kind kind, double x) {
  const double u = kind == StoreStep::Kind::kGeluErf
                       ? std::erf(x / std::sqrt(2.0))
                       : std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return x * (1 + u) / 2;
}

TEST_P(PanelConvolutionOn, StoresThroughGelus) {
  const float infinity = std::numeric_limits<float>::infinity();
  Case c = case_of({1, 60, 70, 1, 60, 70, 16, 1, 1, 1, 1, 1, 1, 0, 0});
  for (float& x : c.source) x *= 12;
  std::copy_n(std::vector<float>{infinity, -infinity, std::nanf(""), 1e20F, -1e20F, 0}.begin(), 6,
              c.source.begin());
  const std::vector<float> plain = run(c, {}, 2);
  for (const StoreStep::Kind kind : {StoreStep::Kind::kGeluErf, StoreStep::Kind::kGeluTanh}) {
    const std::vector<float> got = run(c, {{kind}}, 2);
    for (size_t i = 0; i < plain.size(); ++i) {
      const double wanted = gelu(kind, plain[i]);
      if (std::isfinite(wanted)) {
        ASSERT_NEAR(got[i], wanted, 2e-6 * std::max(1.0, std::abs(wanted))) << plain[i];
      } else {
        ASSERT_EQ(std::isnan(got[i]), std::isnan(wanted)) << plain[i];
        if (!std::isnan(wanted)) {
          ASSERT_EQ(got[i], wanted);
        }
      }
    }
  }
}

TEST_P(PanelConvolutionOn, MatricesPackAlikeHoweverTheyLie) {
  for (const int64_t columns : {16, 80, 144}) {
    const PanelConvolution p{1, 1, 9, 37, 1, 9, columns, 1, 1, 1, 1, 1, 1, 0, 0};
    const std::vector<float> turned = numbers(37 * columns, 7);  // [columns][depth]
    std::vector<float> plain(turned.size());
    for (int64_t k = 0; k < 37; ++k) {
      for (int64_t o = 0; o < columns; ++o)
        plain[static_cast<size_t>(k * columns + o)] = turned[static_cast<size_t>(o * 37 + k)];
    }
    std::vector<float> wanted(static_cast<size_t>(convolution_weight_count(p)));
    std::vector<float> got(wanted.size(), 7);
    pack_product_weight(p, turned.data(), 1, 37, wanted.data());
    pack_product_weight(p, plain.data(), columns, 1, got.data());
    EXPECT_EQ(got, wanted);
  }
}

// A net's kernels take weights that were packed for those of another level.
TEST_P(PanelConvolutionOn, PanelsOfEachLevelGiveTheSameBits) {
  for (const int64_t channels : {16, 70, 128}) {
    for (const int64_t side : {1, 3}) {  // Read where they lie, and gathered.
      Case c = case_of({1, 9, 7, 200, 9, 7, channels, side, side, 1, 1, 1, 1, side / 2, side / 2});
      c.problem.panel = panel_channels(InstructionSet::kAvx512);
      const std::vector<float> wide = run(c, {{StoreStep::Kind::kSwish}}, 2);
      c.problem.panel = panel_channels(InstructionSet::kAvx2);
      EXPECT_EQ(run(c, {{StoreStep::Kind::kSwish}}, 2), wide) << channels << " " << side;
    }
  }
}

// A few rows go through several panels at a time, of which the last ones may be left over.
TEST_P(PanelConvolutionOn, FewRowsGoThroughPanelsSideBySide) {
  for (const int64_t rows : {1, 2, 3, 4}) {
    for (const int64_t depth : {1, 37, 1300}) {
      for (const int64_t channels : {16, 30, 48, 70, 112, 250}) {
        Case c = case_of({1, 1, rows, depth, 1, rows, channels, 1, 1, 1, 1, 1, 1, 0, 0});
        c.problem.panel = panel_channels(InstructionSet::kAvx512);
        const std::vector<float> wide = run(c, {{StoreStep::Kind::kSwish}}, 2);
        c.problem.panel = kPanelGrain;
        EXPECT_EQ(run(c, {{StoreStep::Kind::kSwish}}, 2), wide)
            << rows << " " << depth << " " << channels;
      }
    }
  }
}

// As a division by six gives it, zeros of both signs too.
TEST_P(PanelConvolutionOn, HardswishIsRoundedAsByDivision) {
  Case c = case_of({1, 60, 70, 1, 60, 70, 16, 1, 1, 1, 1, 1, 1, 0, 0});
  for (float& x : c.source) x *= 8;
  const std::vector<float> plain = run(c, {}, 2);
  const std::vector<float> got = run(c, {{StoreStep::Kind::kHardswish}}, 2);
  for (size_t i = 0; i < plain.size(); ++i) {
    const float wanted = plain[i] * std::clamp(plain[i] + 3.0F, 0.0F, 6.0F) / 6.0F;
    ASSERT_EQ(got[i], wanted) << plain[i];
    ASSERT_EQ(std::signbit(got[i]), std::signbit(wanted)) << plain[i];
  }
}

TEST_P(PanelConvolutionOn, StepsKeepNaN) {
  using Kind = StoreStep::Kind;
  Case c = case_of({1, 2, 2, 8, 2, 2, 32, 1, 1, 1, 1, 1, 1, 0, 0});
  c.source[8] = std::nanf("");
  const std::vector<float> got = run(c, {{Kind::kRelu}, {Kind::kClip, 0, 6}}, 1);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i / 32 == 1) << i;
}

TEST_P(PanelConvolutionOn, HardswishKeepsInfinity) {
  Case c = case_of({1, 1, 2, 1, 1, 2, 16, 1, 1, 1, 1, 1, 1, 0, 0});
  c.source[0] = std::numeric_limits<float>::infinity();
  const std::vector<float> plain = run(c, {}, 1);
  const std::vector<float> got = run(c, {{StoreStep::Kind::kHardswish}}, 1);
  int64_t infinite = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (plain[i] != std::numeric_limits<float>::infinity()) continue;
    EXPECT_EQ(got[i], plain[i]) << i;
    ++infinite;
  }
  EXPECT_GT(infinite, 0);
}

// 3136 rows make 17 parts of at most 192, of which one of two threads would have 9.
TEST(PanelConvolutionPlan, GivesThreadsAsManyPartsEach) {
  for (const int threads : {2, 3, 4, 7}) {
    for (const int64_t side : {14, 28, 56, 57, 112}) {
      const ConvolutionPlan plan =
          plan_convolution({1, side, side, 64, side, side, 64, 1, 1, 1, 1, 1, 1, 0, 0}, threads);
      if (plan.row_parts > threads) {
        EXPECT_EQ(plan.row_parts % threads, 0) << side;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, PanelConvolutionOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels::net
