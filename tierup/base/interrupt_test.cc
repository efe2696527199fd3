// Long work is asked between its pieces, and is done as if nobody had asked if nothing stops it.
#include "tierup/base/interrupt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tierup/base/parallel.h"

namespace tierup {
namespace {

class StopAfter final : public Interrupt {
 public:
  explicit StopAfter(int questions) : left_(questions) {}
  void poll() const override {
    if (left_.fetch_sub(1) <= 0) throw std::runtime_error("stopped");
  }

 private:
  mutable std::atomic<int> left_;
};

constexpr int64_t kMany = int64_t{1} << 40;

TEST(Interrupt, StopsLongWorkOfOneThreadAndMany) {
  for (const int threads : {1, 2, 3}) {
    const ThreadCountScope count(threads);
    const StopAfter interrupt(5);
    const InterruptScope scope(&interrupt);
    std::atomic<int64_t> done{0};
    EXPECT_THROW(
        parallel_for(0, kMany, 1, [&](int64_t begin, int64_t end) { done += end - begin; }),
        std::runtime_error);
    EXPECT_LT(done, kMany / 1000);
  }
}

TEST(Interrupt, PiecesCoverEverythingOnce) {
  for (const int threads : {1, 2, 3}) {
    const ThreadCountScope count(threads);
    const StopAfter interrupt(1 << 30);
    const InterruptScope scope(&interrupt);
    std::vector<std::atomic<int>> seen(100'001);
    parallel_for(3, static_cast<int64_t>(seen.size()), 7, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i >= 3 ? 1 : 0) << i;
  }
}

TEST(Interrupt, IsKnownInEveryThreadOfTheWorkAndNowhereAfter) {
  const StopAfter interrupt(1 << 30);
  std::atomic<int> strangers{0};
  {
    const InterruptScope scope(&interrupt);
    parallel_for(0, 100, 1, [&](int64_t, int64_t) {
      if (current_interrupt() != &interrupt) ++strangers;
    });
    {
      const InterruptScope none(nullptr);
      EXPECT_EQ(current_interrupt(), nullptr);
    }
    EXPECT_EQ(current_interrupt(), &interrupt);
  }
  parallel_for(0, 100, 1, [&](int64_t, int64_t) {
    if (current_interrupt() != nullptr) ++strangers;
  });
  EXPECT_EQ(strangers, 0);
}

// Grains may be long: the questions follow the clock, not a count.
TEST(Interrupt, IsAskedOftenWhereGrainsAreLong) {
  const ThreadCountScope two(2);
  const StopAfter interrupt(4);
  const InterruptScope scope(&interrupt);
  std::atomic<int64_t> done{0};
  EXPECT_THROW(
      parallel_for(0, 100, 1,
                   [&](int64_t begin, int64_t end) {
                     std::this_thread::sleep_for((end - begin) * std::chrono::milliseconds(30));
                     done += end - begin;
                   }),
      std::runtime_error);
  EXPECT_LE(done, 6);
}

// Nothing can stop it: bodies get their whole part at once.
TEST(Interrupt, AbsentLeavesRangesWhole) {
  const ThreadCountScope two(2);
  std::atomic<int> ranges{0};
  parallel_for(0, kMany, 1, [&](int64_t, int64_t) { ++ranges; });
  EXPECT_LE(ranges, 2);
}

}  // namespace
}  // namespace tierup
