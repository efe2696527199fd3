#include "tierup/base/piece_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace tierup {
namespace {

TEST(PieceQueue, AWorkerTakesItsShareInOrderAndThenOthersFromTheEnd) {
  PieceQueue queue(5, 2);
  EXPECT_EQ(queue.take(0), 0);
  EXPECT_EQ(queue.take(0), 1);
  EXPECT_EQ(queue.take(0), 4);
  EXPECT_EQ(queue.take(1), 2);
  EXPECT_EQ(queue.take(0), 3);
  EXPECT_LT(queue.take(0), 0);
  EXPECT_LT(queue.take(1), 0);
}

TEST(PieceQueue, EachPieceIsDoneOnce) {
  for (const int threads : {1, 2, 4}) {
    const ThreadCountScope scope(threads);
    for (const int64_t pieces : {0, 1, 3, 1000}) {
      std::vector<int> times(static_cast<size_t>(pieces));
      std::vector<std::atomic<int>> busy(PieceQueue::kMostWorkers);
      parallel_pieces(pieces, piece_workers(pieces, threads), [&](int64_t i, int64_t worker) {
        EXPECT_EQ(busy[static_cast<size_t>(worker)].fetch_add(1), 0);
        ++times[static_cast<size_t>(i)];
        busy[static_cast<size_t>(worker)].fetch_sub(1);
      });
      EXPECT_EQ(times, std::vector<int>(static_cast<size_t>(pieces), 1));
    }
  }
}

}  // namespace
}  // namespace tierup
