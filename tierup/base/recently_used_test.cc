#include "tierup/base/recently_used.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace tierup {
namespace {

struct Number final : public RefCounted, public UseMark {
  explicit Number(int given) : value(given) {}
  const int value;
};
using Numbers = RecentlyUsed<Number>;

Ref<const Number> find(const Numbers& numbers, int value) {
  return numbers.find([&](const Ref<const Number>& number) { return number->value == value; });
}
size_t add(Numbers& numbers, int value, size_t most) {
  return numbers.add(make_ref<Number>(value),
                     [&](const Numbers::Entries& entries) { return entries.size() > most; });
}

TEST(RecentlyUsed, TheLeastRecentlyUsedGoes) {
  Numbers numbers;
  EXPECT_EQ(find(numbers, 1), nullptr);
  for (const int value : {1, 2, 3}) EXPECT_EQ(add(numbers, value, 3), 0U);
  EXPECT_NE(find(numbers, 1), nullptr);
  EXPECT_EQ(add(numbers, 4, 3), 1U);
  EXPECT_EQ(find(numbers, 2), nullptr);
  for (const int value : {1, 3, 4}) EXPECT_NE(find(numbers, value), nullptr) << value;
}

TEST(RecentlyUsed, TheNewestStaysWhateverTheBound) {
  Numbers numbers;
  add(numbers, 1, 3);
  add(numbers, 2, 3);
  EXPECT_EQ(add(numbers, 3, 0), 2U);
  ASSERT_EQ(numbers.entries().size(), 1U);
  EXPECT_EQ(numbers.entries().front()->value, 3);
}

TEST(RecentlyUsed, NewestComeFirstAndMayBeTakenOut) {
  Numbers numbers;
  for (const int value : {1, 2, 3}) add(numbers, value, 3);
  numbers.remove(find(numbers, 2).get());
  ASSERT_EQ(numbers.entries().size(), 2U);
  EXPECT_EQ(numbers.entries().front()->value, 3);
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
}

// How often a newcomer calls until it may take one of two places, so many of which changed hands.
uint64_t calls_until_let_in(uint64_t replacements) {
  Newcomers<int> newcomers;
  newcomers.add(1);
  auto& newcomer = newcomers.add(7);
  while (!Newcomers<int>::may_replace(newcomer, 2, replacements)) ++newcomer.calls;
  return newcomer.calls;
}

TEST(Newcomers, TakeTwiceAsManyCallsWheneverAllPlacesChangedHands) {
  EXPECT_EQ(calls_until_let_in(1), calls_until_let_in(0));
  EXPECT_EQ(calls_until_let_in(2), 2 * calls_until_let_in(0));
  EXPECT_EQ(calls_until_let_in(5), 4 * calls_until_let_in(0));
  EXPECT_EQ(calls_until_let_in(2000), calls_until_let_in(1000)) << "they do come in, ever so late";
}

TEST(Newcomers, AreForgottenBeyondABound) {
  Newcomers<int> newcomers;
  for (int key = 0; key < 1000; ++key) newcomers.add(key);
  const auto find = [&](int wanted) {
    return newcomers.find([&](int key) { return key == wanted; });
  };
  EXPECT_EQ(find(0), nullptr);
  ASSERT_NE(find(999), nullptr);
  newcomers.remove(*find(999));
  EXPECT_EQ(find(999), nullptr);
  EXPECT_NE(find(998), nullptr);
}

TEST(RecentlyUsed, ReadersAndWritersMeet) {
  constexpr int kRounds = 2000;
  Numbers numbers;
  std::mutex writers;
  const auto work = [&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      const int wanted = (i + thread) % 6;
      if (const Ref<const Number> found = find(numbers, wanted)) {
        EXPECT_EQ(found->value, wanted);
        continue;
      }
      const std::lock_guard<std::mutex> lock(writers);
      if (find(numbers, wanted) == nullptr) add(numbers, wanted, 4);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_LE(numbers.entries().size(), 4U);
}

}  // namespace
}  // namespace tierup
