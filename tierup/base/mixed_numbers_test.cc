#include "tierup/base/mixed_numbers.h"

#include <gtest/gtest.h>

#include <vector>

namespace tierup {
namespace {

TEST(MixedNumbers, AreTheSameManyAtATimeAsOneByOne) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{29}}) {
    MixedNumbers each(3);
    MixedNumbers many(3);
    std::vector<float> numbers(count);
    many.fill(numbers);
    for (const float number : numbers) EXPECT_EQ(number, each.next());
    EXPECT_EQ(many.next(), each.next()) << count;
  }
}

}  // namespace
}  // namespace tierup
