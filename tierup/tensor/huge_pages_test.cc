// When huge pages are made, by a clock that the test tells.
#include "tierup/tensor/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/tensor/pages.h"

namespace tierup {
namespace {

constexpr int64_t kMicrosecond = 1000;

class HugePagesTest : public ::testing::Test {
 protected:
  static constexpr size_t kPages = 4;

  void SetUp() override {
    space_ = mmap(nullptr, (kPages + 1) * kHugePageBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(space_, MAP_FAILED);
    const auto address = reinterpret_cast<uintptr_t>(space_);
    block_ = static_cast<char*>(space_) + (kHugePageBytes - address % kHugePageBytes);
    madvise(block_, kPages * kHugePageBytes, MADV_NOHUGEPAGE);  // The clock is made up.
  }
  void TearDown() override { munmap(space_, (kPages + 1) * kHugePageBytes); }

  // Each step takes the next of `steps_`: what is between two looks at the clock, and then nothing.
  int64_t now() {
    if (is_second_look_ && step_ < steps_.size()) time_ += steps_[step_++];
    is_second_look_ = !is_second_look_;
    return time_;
  }
  bool is_made(size_t page) {
    unsigned char resident = 0;
    mincore(block_ + page * kHugePageBytes, 1, &resident);
    return (resident & 1U) != 0;
  }

  bool are_dear() {
    is_second_look_ = false;
    return pages_.are_dear();
  }

  void* space_ = nullptr;
  char* block_ = nullptr;
  int64_t time_ = 0;
  std::vector<int64_t> steps_;
  size_t step_ = 0;
  bool is_second_look_ = false;
  ThreadCountScope one_thread_{1};  // So that pages are made in order.
  HugePages pages_{[this] { return now(); }};
};

TEST_F(HugePagesTest, AreAllMadeWhereEachTakesLessThanSmallOnes) {
  steps_ = {64 * kMicrosecond, 90 * kMicrosecond, 500 * kMicrosecond, 90 * kMicrosecond};
  pages_.make(block_, kPages * kHugePageBytes);
  for (size_t page = 0; page < kPages; ++page) EXPECT_TRUE(is_made(page)) << page;
  EXPECT_FALSE(pages_.are_dear());
}

TEST_F(HugePagesTest, EndOnceDearOnesHaveCostTooMuchAndComeAgainAfterAWhile) {
  constexpr int64_t kMillisecond = 1000 * kMicrosecond;
  time_ = 7'000 * kMillisecond;
  steps_ = {64 * kMicrosecond, 100 * kMillisecond, 90 * kMicrosecond, 60 * kMillisecond};
  pages_.make(block_, kPages * kHugePageBytes);
  EXPECT_TRUE(is_made(2));
  EXPECT_FALSE(is_made(3));
  EXPECT_TRUE(are_dear());
  time_ += 850 * kMillisecond;  // With what the second one took, nearly a second: 10 ms of 160.
  EXPECT_TRUE(are_dear());
  time_ += 150 * kMillisecond;
  EXPECT_FALSE(are_dear());
}

TEST_F(HugePagesTest, OfABlockThatBeginsAndEndsWithinPagesAreMade) {
  steps_ = {64 * kMicrosecond};
  pages_.make(block_ + kHugePageBytes / 2, kHugePageBytes);
  unsigned char resident = 0;
  mincore(block_ + kHugePageBytes / 2, 1, &resident);
  EXPECT_TRUE((resident & 1U) != 0);
  EXPECT_TRUE(is_made(1));
  EXPECT_FALSE(is_made(2));
}

TEST_F(HugePagesTest, OfABlockThatIsToHaveSmallOnesNoneAreMade) {
  madvise(block_, kPages * kHugePageBytes, MADV_HUGEPAGE);
  HugePages::keep_small(block_, kPages * kHugePageBytes);
  block_[kHugePageBytes] = 1;
  unsigned char next = 0;
  mincore(block_ + kHugePageBytes + kSmallPageBytes, 1, &next);
  EXPECT_EQ(next & 1U, 0U);
}

TEST_F(HugePagesTest, AreMadeByAllThreadsThatTheCallerMayUse) {
  const ThreadCountScope threads(2);
  std::mutex mutex;
  std::set<std::thread::id> makers;
  HugePages pages([&] {
    std::unique_lock<std::mutex> lock(mutex);
    makers.insert(std::this_thread::get_id());
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // So that none makes all.
    return int64_t{0};
  });
  pages.make(block_, kPages * kHugePageBytes);
  for (size_t page = 0; page < kPages; ++page) EXPECT_TRUE(is_made(page)) << page;
  EXPECT_EQ(makers.size(), 2U);
}

}  // namespace
}  // namespace tierup
