// Distances of many numbers at once are those of one after the other.
#include "tierup/tensor/deviation.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tierup {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class DeviationTest : public ::testing::Test {
 protected:
  // More than a piece, and no whole number of lanes.
  static constexpr size_t kCount = 1203;

  void SetUp() override {
    for (size_t i = 0; i < kCount; ++i) {
      expected_.push_back(static_cast<float>(i % 97) - 48);
      found_.push_back(expected_[i] + 0.25F * static_cast<float>(i % 3));
    }
  }
  void expect_same() {
    Deviation one_by_one;
    for (size_t i = 0; i < kCount; ++i)
      one_by_one.note(static_cast<double>(found_[i]), static_cast<double>(expected_[i]));
    Deviation at_once;
    at_once.note_all(found_, expected_);
    EXPECT_EQ(at_once.max_absolute, one_by_one.max_absolute);
    EXPECT_EQ(at_once.largest_value, one_by_one.largest_value);
  }

  std::vector<float> found_;
  std::vector<float> expected_;
};

TEST_F(DeviationTest, OfManyNumbersIsThatOfEach) { expect_same(); }

TEST_F(DeviationTest, IsFoundWhereverItIs) {
  for (const size_t at :
       {size_t{0}, size_t{9}, size_t{511}, size_t{512}, size_t{700}, kCount - 1}) {
    const float was = found_[at];
    found_[at] = -300;
    expect_same();
    found_[at] = was;
    std::swap(expected_[at], found_[at]);
    expected_[at] += 1000;
    expect_same();
    expected_[at] -= 1000;
    std::swap(expected_[at], found_[at]);
  }
}

TEST_F(DeviationTest, IsNoneWhereBothAreTheSameInfinityOrNoNumber) {
  found_ = expected_;
  for (const float odd : {kInfinity, -kInfinity, kNan}) {
    found_[40] = expected_[40] = odd;
    expect_same();
    Deviation deviation;
    deviation.note_all(found_, expected_);
    EXPECT_EQ(deviation.relative(), 0);
  }
}

TEST_F(DeviationTest, IsInfiniteWhereOneIsNoNumber) {
  for (const size_t at : {size_t{3}, size_t{600}, kCount - 1}) {
    for (const float odd : {kInfinity, -kInfinity, kNan}) {
      for (std::vector<float>* side : {&found_, &expected_}) {
        const float was = (*side)[at];
        (*side)[at] = odd;
        expect_same();
        Deviation deviation;
        deviation.note_all(found_, expected_);
        EXPECT_EQ(deviation.relative(), std::numeric_limits<double>::infinity());
        (*side)[at] = was;
      }
    }
  }
}

}  // namespace
}  // namespace tierup
