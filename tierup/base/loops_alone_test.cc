#include "tierup/base/loops_alone.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "tierup/base/parallel.h"

namespace tierup {
namespace {

TEST(LoopsAlone, AreNotSharedThoughThreadsAreAllowed) {
  const ThreadCountScope threads(2);
  const auto ranges = [] {
    std::atomic<int> count = 0;
    parallel_for(0, 100, 1, [&](int64_t, int64_t) { ++count; });
    return count.load();
  };
  ASSERT_EQ(intra_op_threads(), 2);
  {
    const LoopsAloneScope alone;
    { const LoopsAloneScope inner; }
    EXPECT_EQ(intra_op_threads(), 1);
    EXPECT_EQ(allowed_threads(), 2);
    EXPECT_EQ(ranges(), 1);
  }
  EXPECT_EQ(intra_op_threads(), 2);
}

}  // namespace
}  // namespace tierup
