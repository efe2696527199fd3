#include "tierup/tier/batch_thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace tierup::tier {
namespace {

TEST(BatchThread, ItsWorkIsTenNicerThanTheProcessAndPreemptsNobody) {
  const int own = getpriority(PRIO_PROCESS, 0);
  int niceness = own;
  int scheduler = -1;
  run_as_batch(std::chrono::nanoseconds(0), [&] {
    niceness = getpriority(PRIO_PROCESS, 0);  // Linux: of this thread.
    scheduler = sched_getscheduler(0);
  });
  EXPECT_EQ(niceness, std::min(own + 10, 19));
  EXPECT_TRUE(scheduler == SCHED_BATCH || scheduler == SCHED_IDLE);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
}

TEST(BatchThread, WhatItsWorkThrowsComesToTheCaller) {
  EXPECT_THROW(run_as_batch({}, [] { throw std::out_of_range("no such plan"); }),
               std::out_of_range);
}

}  // namespace
}  // namespace tierup::tier
