#include "tierup/kernels/net/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/net/convolution_fixture.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

struct Case {
  Winograd problem;
  std::vector<float> source, weight, bias, before;
  std::vector<StoreStep> steps;
};

Case case_of(const Winograd& problem) {
  return {problem,
          numbers(problem.source_count(), 1),
          numbers(problem.out_channels * problem.in_channels * 9, 2),
          numbers(problem.out_channels, 3),
          numbers(problem.target_count(), 4),
          {}};
}

double apply(const std::vector<StoreStep>& steps, double x, double before) {
  for (const StoreStep& step : steps) {
    switch (step.kind) {
      case StoreStep::Kind::kSum: x += before; break;
      case StoreStep::Kind::kRelu: x = std::max(x, 0.0); break;
      case StoreStep::Kind::kClip: x = std::clamp<double>(x, step.alpha, step.beta); break;
      case StoreStep::Kind::kLinear: x = x * step.alpha + step.beta; break;
      case StoreStep::Kind::kSwish: x = x / (1 + std::exp(-x)); break;
      case StoreStep::Kind::kHardswish: x = x * std::clamp(x + 3, 0.0, 6.0) / 6; break;
      case StoreStep::Kind::kGeluErf: x = x * (1 + std::erf(x / std::sqrt(2.0))) / 2; break;
      case StoreStep::Kind::kGeluTanh:
        x = x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
        break;
    }
  }
  return x;
}

// The sum over one window, in double.
double window_sum(const Case& c, int64_t n, int64_t row, int64_t column, int64_t o) {
  const Winograd& p = c.problem;
  double sum = c.bias[static_cast<size_t>(o)];
  for (int64_t i = 0; i < 9; ++i) {
    const int64_t y = row + i / 3 - p.pad_top;
    const int64_t x = column + i % 3 - p.pad_left;
    if (y < 0 || y >= p.height || x < 0 || x >= p.width) continue;
    const int64_t point = ((n * p.height + y) * p.width + x) * p.in_channels;
    for (int64_t k = 0; k < p.in_channels; ++k) {
      sum += static_cast<double>(c.source[static_cast<size_t>(point + k)]) *
             c.weight[static_cast<size_t>((o * p.in_channels + k) * 9 + i)];
    }
  }
  return sum;
}

std::vector<double> direct(const Case& c) {
  const Winograd& p = c.problem;
  std::vector<double> result;
  for (int64_t i = 0; i < p.target_count(); ++i) {
    const int64_t point = i / p.out_channels;
    const double sum =
        window_sum(c, point / (p.out_width * p.out_height), point / p.out_width % p.out_height,
                   point % p.out_width, i % p.out_channels);
    result.push_back(apply(c.steps, sum, c.before[static_cast<size_t>(i)]));
  }
  return result;
}

double largest_error(const Case& c, const std::vector<double>& wanted, int threads) {
  const Winograd& p = c.problem;
  const ThreadCountScope scope(threads);
  const WinogradPlan plan = plan_winograd(p, threads);
  std::vector<float> packed(static_cast<size_t>(winograd_weight_count(p)));
  pack_winograd_weight(p, c.weight.data(), nullptr, packed.data());
  const auto source = block_of(c.source);
  const auto weights = block_of(packed);
  const auto bias = block_of(c.bias);
  std::vector<float> room_for_target = c.before;
  room_for_target.push_back(77);
  const auto target = block_of(room_for_target);
  const std::vector<float> junk(static_cast<size_t>(plan.scratch()), std::nanf(""));
  const auto scratch = block_of(junk);
  run_winograd(p, plan, floats(source), floats(weights), floats(bias), c.steps, floats(target),
               floats(scratch));
  EXPECT_EQ(floats(target)[p.target_count()], 77);
  double most = 0;
  double top = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = std::abs(wanted[i] - floats(target)[i]);
    if (std::isnan(difference)) return difference;
    most = std::max(most, difference);
    top = std::max(top, std::abs(wanted[i]));
  }
  return most / top;
}

struct Tiling {
  int tile;
  bool in_registers;
};
constexpr Tiling kTilings[] = {{2, false}, {4, false}, {4, true}};

class WinogradOn : public OnInstructionSet {};

TEST_P(WinogradOn, AwkwardSizesGiveWhatDirectConvolutionGives) {
  // batch, height, width, in channels, out height, out width, out channels, padding
  const std::vector<Winograd> problems{
      {1, 1, 1, 16, 1, 1, 16, 1, 1, 0},     {1, 3, 3, 16, 1, 1, 48, 0, 0, 0},
      {2, 5, 7, 48, 5, 7, 80, 1, 1, 0},     {1, 13, 9, 80, 13, 9, 32, 1, 1, 0},
      {3, 6, 4, 144, 4, 2, 16, 0, 0, 0},    {1, 17, 30, 16, 19, 32, 96, 2, 2, 0},
      {1, 7, 7, 192, 7, 7, 208, 1, 1, 0},   {1, 4, 31, 32, 3, 30, 160, 0, 1, 0},
      {1, 30, 30, 64, 30, 30, 64, 1, 1, 0}, {1, 6, 7, 17, 6, 7, 33, 1, 1, 0},
      {2, 9, 5, 40, 9, 5, 40, 1, 1, 0},     {1, 8, 8, 71, 8, 8, 24, 1, 1, 0},
      {1, 5, 5, 36, 5, 5, 18, 1, 1, 0},
  };
  for (Winograd problem : problems) {
    for (const auto [tile, in_registers] : kTilings) {
      problem.tile = tile;
      problem.in_registers = in_registers;
      const Case c = case_of(problem);
      const std::vector<double> wanted = direct(c);
      for (const int threads : {1, 2, 3}) {
        EXPECT_LT(largest_error(c, wanted, threads), 4e-6)
            << problem.height << "x" << problem.width << " " << problem.in_channels << " to "
            << problem.out_channels << " tile " << tile << " in registers " << in_registers
            << " threads " << threads;
      }
    }
  }
}

TEST_P(WinogradOn, StoresThroughEachStep) {
  using Kind = StoreStep::Kind;
  const std::vector<std::vector<StoreStep>> lines{
      {{Kind::kRelu}},
      {{Kind::kSum}, {Kind::kRelu}},
      {{Kind::kRelu}, {Kind::kSum}},
      {{Kind::kClip, -0.5F, 6}},
      {{Kind::kSwish}},
      {{Kind::kHardswish}},
      {{Kind::kLinear, 0.5F, 3}, {Kind::kClip, 0, 2}, {Kind::kSum}},
  };
  for (const auto [tile, in_registers] : kTilings) {
    for (const int64_t out_channels : {48, 37}) {
      Case c = case_of({1, 9, 10, 32, 9, 10, out_channels, 1, 1, tile, in_registers});
      for (const auto& steps : lines) {
        c.steps = steps;
        EXPECT_LT(largest_error(c, direct(c), 2), 4e-6);
      }
    }
  }
}

// Relu and clip keep a NaN: a net looks for them in its results.
TEST_P(WinogradOn, KeepsNaN) {
  using Kind = StoreStep::Kind;
  for (const auto [tile, in_registers] : kTilings) {
    Case c = case_of({1, 4, 4, 16, 4, 4, 16, 1, 1, tile, in_registers});
    c.source[5] = std::nanf("");
    c.steps = {{Kind::kRelu}, {Kind::kClip, 0, 6}};
    EXPECT_TRUE(std::isnan(largest_error(c, direct(c), 1)));
  }
}

// A net over other weights is not compared with tier 0 again: transforms are the same for all, and
// so is the bound of what they round, relative to weights and inputs.
TEST_P(WinogradOn, RoundsByNoMoreWhateverTheWeightsAre) {
  const auto each = [](const Case& c, const auto& weight_of) {
    Case other = c;
    for (size_t i = 0; i < other.weight.size(); ++i) other.weight[i] = weight_of(i, c.weight[i]);
    return other;
  };
  for (const auto [tile, in_registers] : kTilings) {
    const Case given = case_of({1, 9, 10, 32, 9, 10, 48, 1, 1, tile, in_registers});
    const std::vector<Case> cases{
        given,
        each(given, [](size_t i, float w) { return i % 9 == 4 ? 1e6F * w : w; }),
        each(given, [](size_t i, float) { return i % 9 == 4 ? 8.0F : -1.0F; }),
        each(given, [](size_t i, float w) { return i / 9 % 2 == 0 ? 1e12F * w : 1e-12F * w; }),
        each(given, [](size_t, float w) { return 1e-30F * w; }),
        each(given, [](size_t i, float w) { return i % 9 == 8 ? w : 0; })};
    for (size_t i = 0; i < cases.size(); ++i) {
      Case c = cases[i];
      // On what all but cancels, as on any numbers.
      for (const float offset : {0.0F, 100.0F}) {
        for (float& x : c.source) x += offset;
        std::fill(c.bias.begin(), c.bias.end(), 0.0F);
        const std::vector<double> wanted = direct(c);
        const double top =
            std::abs(*std::ranges::max_element(wanted, {}, [](double x) { return std::abs(x); }));
        float largest_weight = 0;
        for (const float w : c.weight) largest_weight = std::max(largest_weight, std::abs(w));
        const double size = 32.0 * largest_weight * (1 + offset);
        EXPECT_LT(largest_error(c, wanted, 2) * top, 3e-6 * size) << i << " offset " << offset;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, WinogradOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

TEST(WinogradBlock, FitsTheSecondLevelCacheOfTheMachine) {
  Winograd problem{};
  problem.tile = 4;
  problem.in_channels = 64;
  problem.out_channels = 64;
  int64_t before = 0;
  for (const int64_t kilobytes : {256, 512, 1024, 1280, 2048}) {
    const int64_t bytes = kilobytes << 10;
    const WinogradBlock block = winograd_block(problem, 100'000, 64, bytes);
    EXPECT_GE(block.tiles, before) << kilobytes << " KiB";
    before = block.tiles;
    // Fourteen tiles are the fewest that pay, whether they fit or not.
    if (block.tiles > 14) {
      EXPECT_LE(block.scratch * 4, bytes) << kilobytes << " KiB";
    }
  }
  EXPECT_GT(before, 14);
  EXPECT_LE(winograd_block(problem, 5, 64, 256 << 10).tiles, 5);
}

}  // namespace
}  // namespace tierup::kernels::net
