#include "tierup/kernels/net/step_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

class SwishOn : public OnInstructionSet {};

TEST_P(SwishOn, IsWithinAFewUnitsOfTheLastPlace) {
  std::vector<float> x;
  for (float v = -86; v < 120; v += 0.00137F) x.push_back(v);
  for (float v = 1e-30F; v < 1; v *= 1.01F) {
    x.push_back(v);
    x.push_back(-v);
  }
  std::vector<float> y = x;
  swish_in_place(y.data(), static_cast<int64_t>(y.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = x[i] / (1 + std::exp(-static_cast<double>(x[i])));
    ASSERT_NEAR(y[i], wanted, 5 * 6e-8 * std::abs(wanted) + 1.2e-38) << x[i];
  }
}

TEST_P(SwishOn, KeepsWhatIsNoOrdinaryNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{std::nanf(""), infinity, -infinity, 0.0F,   -0.0F,
                             1e-42F,        -1e-42F,  3e38F,     -3e38F, -100};
  std::vector<float> y = x;
  swish_in_place(y.data(), static_cast<int64_t>(y.size()));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], infinity);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_TRUE(y[3] == 0 && !std::signbit(y[3]));
  EXPECT_TRUE(y[4] == 0 && std::signbit(y[4]));
  EXPECT_NEAR(y[5], 5e-43F, 2e-45);
  EXPECT_NEAR(y[6], -5e-43F, 2e-45);
  EXPECT_EQ(y[7], 3e38F);
  EXPECT_EQ(y[8], 0);
  EXPECT_NEAR(y[9], 0, 1e-36);
}

TEST_P(SwishOn, TakesAnyCountAndAnyThreads) {
  for (const int64_t count : {1, 15, 17, 8192, 8193, 50001}) {
    for (const int threads : {1, 2, 3}) {
      const ThreadCountScope scope(threads);
      std::vector<float> y(static_cast<size_t>(count) + 1, 1.0F);
      swish_in_place(y.data(), count);
      for (int64_t i = 0; i < count; ++i) ASSERT_NEAR(y[static_cast<size_t>(i)], 0.73105858F, 2e-7);
      EXPECT_EQ(y.back(), 1.0F);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, SwishOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels::net
