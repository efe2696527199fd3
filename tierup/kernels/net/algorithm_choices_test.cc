#include "tierup/kernels/net/algorithm_choices.h"

#include <gtest/gtest.h>

namespace tierup::kernels::net {
namespace {

TEST(AlgorithmChoices, AShapeIsKnownOnceItWasMeasuredAndOthersAreNot) {
  AlgorithmChoices choices(8);
  choices.note({1, 64, 64}, Algorithm::kPanels);
  EXPECT_EQ(choices.find({1, 64, 64}), Algorithm::kPanels);
  EXPECT_EQ(choices.find({1, 64, 128}), std::nullopt);
}

TEST(AlgorithmChoices, TheFirstChoiceStays) {
  AlgorithmChoices choices(8);
  choices.note({7}, Algorithm::kOneDnn);
  choices.note({7}, Algorithm::kPanels);
  EXPECT_EQ(choices.find({7}), Algorithm::kOneDnn);
}

TEST(AlgorithmChoices, EverNewShapesTakeNoMoreThanTheBound) {
  AlgorithmChoices choices(4);
  for (int64_t i = 0; i < 9; ++i) choices.note({i}, Algorithm::kPanels);
  int64_t known = 0;
  for (int64_t i = 0; i < 9; ++i) known += choices.find({i}).has_value() ? 1 : 0;
  EXPECT_EQ(known, 1);
  EXPECT_TRUE(choices.find({8}).has_value());
}

}  // namespace
}  // namespace tierup::kernels::net
