#include "tierup/profile/graph_profile.h"

#include <gtest/gtest.h>

namespace tierup::profile {
namespace {

IValue tensor(std::initializer_list<int64_t> sizes, ScalarType dtype = ScalarType::kFloat) {
  return Tensor::empty(IntVector(sizes), dtype);
}

TEST(GraphProfile, DimensionsThatMoveTogetherShareASymbol) {
  GraphProfile profile;
  const std::vector<std::vector<IValue>> runs = {{tensor({2, 4}), tensor({4, 2})},
                                                 {tensor({3, 5}), tensor({5, 3})},
                                                 {tensor({7, 9}), tensor({9, 7})}};
  for (const auto& run : runs) profile.record(run);
  EXPECT_EQ(profile.symbols_of(0)[0], profile.symbols_of(1)[1]);
  EXPECT_EQ(profile.symbols_of(0)[1], profile.symbols_of(1)[0]);
  EXPECT_NE(profile.symbols_of(0)[0], profile.symbols_of(0)[1]);
}

TEST(GraphProfile, AccidentalEqualitySplits) {
  GraphProfile profile;
  profile.record(std::vector<IValue>{tensor({2, 2})});
  EXPECT_EQ(profile.to_string(), "0: float32[2, 2] contiguous\n");
  profile.record(std::vector<IValue>{tensor({3, 5})});
  EXPECT_NE(profile.symbols_of(0)[0], profile.symbols_of(0)[1]);
}

TEST(GraphProfile, RankAndDtypeThatVaryAreUnknown) {
  GraphProfile profile;
  profile.record(std::vector<IValue>{tensor({2, 2})});
  profile.record(std::vector<IValue>{tensor({2, 2, 2}, ScalarType::kDouble)});
  profile.record(std::vector<IValue>{tensor({2, 2})});
  EXPECT_FALSE(profile.arguments()[0].rank.has_value());
  EXPECT_FALSE(profile.arguments()[0].dtype.has_value());
}

TEST(GraphProfile, BoolsAreKnownWhileTheyDoNotVary) {
  GraphProfile profile;
  profile.record(std::vector<IValue>{IValue(true)});
  EXPECT_EQ(profile.arguments()[0].truth, true);
  profile.record(std::vector<IValue>{IValue(false)});
  EXPECT_FALSE(profile.arguments()[0].truth.has_value());
}

}  // namespace
}  // namespace tierup::profile
