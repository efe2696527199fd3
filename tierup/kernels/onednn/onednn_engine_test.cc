#include "tierup/kernels/onednn/onednn_engine.h"

#include <gtest/gtest.h>

#include "tierup/base/parallel.h"

namespace tierup::kernels {
namespace {

TEST(ThreadsWorth, SmallWorkIsForTheCallingThreadAlone) {
  const ThreadCountScope threads(2);
  constexpr int64_t kMultiplications = 300'000;
  EXPECT_EQ(threads_worth(kMultiplications, 0), 2);
  EXPECT_EQ(threads_worth(kMultiplications, 0, kMultiplications), 1);
  EXPECT_EQ(threads_worth(kMultiplications + 1, 0, kMultiplications), 2);
  // Moving numbers takes time too.
  EXPECT_EQ(threads_worth(kMultiplications, kMultiplications, kMultiplications), 2);
}

}  // namespace
}  // namespace tierup::kernels
