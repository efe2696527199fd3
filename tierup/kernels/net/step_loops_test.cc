#include "tierup/kernels/net/step_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

class StepsOn : public OnInstructionSet {};

TEST_P(StepsOn, IsWithinAFewUnitsOfTheLastPlace) {
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

TEST_P(StepsOn, KeepsWhatIsNoOrdinaryNumber) {
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

TEST_P(StepsOn, TakesAnyCountAndAnyThreads) {
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

// The step GeluErf on one number.
float gelu_of(float x) {
  float y = 0;
  step_loops().apply({StoreStep::Kind::kGeluErf}, &x, 1, &y);
  return y;
}

TEST_P(StepsOn, GeluIsAsCloseAsFloatsAddedToOneAllow) {
  for (float x = -30; x < 30; x += 0.00137F) {
    const double wanted = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    ASSERT_NEAR(gelu_of(x), wanted, 2e-7 * std::max(1.0F, std::abs(x))) << x;
  }
  for (float x = 1e-30F; x < 1e-3F; x *= 1.1F) {
    ASSERT_NEAR(gelu_of(x), x / 2, 5e-4F * x);
    ASSERT_NEAR(gelu_of(-x), -x / 2, 5e-4F * x);
  }
}

TEST_P(StepsOn, GeluKeepsWhatIsNoOrdinaryNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(gelu_of(std::nanf(""))));
  EXPECT_EQ(gelu_of(infinity), infinity);
  EXPECT_TRUE(std::isnan(gelu_of(-infinity)));
  for (const float far : {5.6F, 100.0F, 1e20F, 3e38F}) {
    EXPECT_EQ(gelu_of(far), far);
    EXPECT_EQ(gelu_of(-far), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, StepsOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels::net
