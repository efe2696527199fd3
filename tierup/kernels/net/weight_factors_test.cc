#include "tierup/kernels/net/weight_factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tierup/kernels/net/convolution_fixture.h"
#include "tierup/kernels/net/panel_convolution.h"
#include "tierup/kernels/net/winograd.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

class WeightFactorsOn : public OnInstructionSet {};

// Of 37 channels: whole vectors of each instruction set, and a rest.
constexpr int64_t kWidth = 48;
constexpr int64_t kCount = 37;
constexpr int64_t kRows = 5;

TEST_P(WeightFactorsOn, GoIntoTheirChannels) {
  std::vector<float> panel = numbers(kRows * kWidth, 1);
  const std::vector<float> before = panel;
  const std::vector<float> factors = numbers(kCount, 2);
  multiply_panel(panel.data(), kRows, kWidth, factors.data(), kCount);
  std::vector<float> row(kCount);
  multiply_weights(before.data(), 0.3F, kCount, row.data());
  for (size_t i = 0; i < panel.size(); ++i) {
    const size_t channel = i % kWidth;
    const float factor = channel < kCount ? factors[channel] : 1;
    EXPECT_EQ(panel[i], before[i] * factor) << i;
    if (i < kCount) EXPECT_EQ(row[i], before[i] * 0.3F) << i;
  }
}

TEST_P(WeightFactorsOn, TellOfEachWeightThatIsLost) {
  for (int64_t at = 0; at < kRows * kWidth; ++at) {
    const int64_t channel = at % kWidth;
    if (channel >= kCount) continue;
    for (const auto& [weight, factor] : {std::pair{1e-30F, 1e-10F}, {1e30F, 1e10F}}) {
      std::vector<float> panel(kRows * kWidth, 1);
      std::vector<float> factors(kCount, 1);
      panel[static_cast<size_t>(at)] = weight;
      factors[static_cast<size_t>(channel)] = factor;
      EXPECT_THROW(multiply_panel(panel.data(), kRows, kWidth, factors.data(), kCount), LostWeight);
      std::vector<float> row(kCount, 1);
      row[static_cast<size_t>(channel)] = weight;
      EXPECT_THROW(multiply_weights(row.data(), factor, kCount, row.data()), LostWeight);
    }
  }
}

TEST_P(WeightFactorsOn, LoseNothingThatIsNoNormalNumberBefore) {
  for (const float weight : {0.0F, 1e-40F, INFINITY, std::nanf("")}) {
    float one = weight;
    const float factor = 1e-10F;
    EXPECT_NO_THROW(multiply_panel(&one, 1, 1, &factor, 1));
    EXPECT_NO_THROW(multiply_weights(&one, 0, 1, &one));
  }
  float large = 1e30F;
  const float none = 0;
  EXPECT_NO_THROW(multiply_panel(&large, 1, 1, &none, 1));
}

// What was multiplied and then packed.
TEST_P(WeightFactorsOn, ArePackedWithTheWeights) {
  const Winograd winograd{1, 4, 4, 19, 4, 4, 37, 1, 1, 4};
  const PanelConvolution panels{1, 4, 4, 19, 4, 4, 37, 3, 3, 1, 1, 1, 1, 1, 1};
  const std::vector<float> weight = numbers(int64_t{37} * 19 * 9, 1);
  const std::vector<float> factors = numbers(37, 2);
  std::vector<float> multiplied(weight.size());
  for (size_t o = 0; o < 37; ++o)
    multiply_weights(&weight[o * 19 * 9], factors[o], 19 * 9, &multiplied[o * 19 * 9]);
  const auto count = static_cast<size_t>(
      std::max(winograd_weight_count(winograd), convolution_weight_count(panels)));
  std::vector<float> wanted(count);
  std::vector<float> found(count);
  pack_winograd_weight(winograd, multiplied.data(), nullptr, wanted.data());
  pack_winograd_weight(winograd, weight.data(), factors.data(), found.data());
  EXPECT_EQ(found, wanted);
  pack_convolution_weight(panels, multiplied.data(), nullptr, wanted.data());
  pack_convolution_weight(panels, weight.data(), factors.data(), found.data());
  EXPECT_EQ(found, wanted);
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, WeightFactorsOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels::net
