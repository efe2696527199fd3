#include "tierup/base/inline_vector.h"

#include <gtest/gtest.h>

#include <string>

namespace tierup {
namespace {

using Words = InlineVector<std::string, 2>;

const char* const kLong = "a word that is longer than what a string keeps inside itself";

Words words(size_t count) {
  Words made;
  for (size_t i = 0; i < count; ++i) made.push_back(kLong + std::to_string(i));
  return made;
}

TEST(InlineVector, HoldsElementsInsideAndBeyond) {
  const Words made = words(7);
  ASSERT_EQ(made.size(), 7U);
  for (size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i], kLong + std::to_string(i));
}

TEST(InlineVector, MovesWithElementsInsideAndBeyond) {
  for (const size_t count : {0U, 1U, 2U, 3U, 9U}) {
    Words from = words(count);
    Words to = std::move(from);
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): it is empty then.
    ASSERT_EQ(to.size(), count);
    from.push_back("again");
    to = std::move(from);
    ASSERT_EQ(to.size(), 1U);
    EXPECT_EQ(to[0], "again");
    to = words(count);
    EXPECT_EQ(to.size(), count);
  }
}

TEST(InlineVector, GrowsWhileAnElementOfItsOwnIsAdded) {
  Words made = words(2);
  made.emplace_back(made[0]);
  EXPECT_EQ(made[2], made[0]);
}

TEST(InlineVector, ResizesBothWays) {
  Words made = words(5);
  made.resize(1);
  EXPECT_EQ(made.size(), 1U);
  made.resize(4);
  EXPECT_EQ(made[0], kLong + std::string("0"));
  EXPECT_EQ(made[3], "");
  InlineVector<int64_t, 3> numbers;
  const int64_t given[] = {1, 2, 3, 4};
  numbers.assign(given);
  numbers.assign(std::span(given).first(2));
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_EQ(numbers[1], 2);
}

}  // namespace
}  // namespace tierup
