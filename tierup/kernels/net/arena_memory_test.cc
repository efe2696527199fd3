#include "tierup/kernels/net/arena_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tierup::kernels::net {
namespace {

constexpr size_t kBytes = 1 << 16;

size_t kept_after_runs_at_one_time(ArenaMemory& memory, int runs) {
  std::vector<std::unique_ptr<ArenaMemory::Block>> blocks;
  for (int i = 0; i < runs; ++i) blocks.push_back(memory.take(kBytes));
  for (auto& block : blocks) memory.give_back(std::move(block));
  return memory.idle_bytes() / kBytes;
}

TEST(ArenaMemory, KeepsAFewBlocksOfABurst) {
  ArenaMemory memory;
  EXPECT_EQ(kept_after_runs_at_one_time(memory, 9), 4U);
  EXPECT_EQ(kept_after_runs_at_one_time(memory, 2), 4U);
}

TEST(ArenaMemory, KeepsABlockForEachRunThatWasSeenTo) {
  ArenaMemory memory;
  memory.reserve(kBytes, 7);
  EXPECT_EQ(memory.idle_bytes(), 7 * kBytes);
  EXPECT_EQ(kept_after_runs_at_one_time(memory, 9), 7U);
}

TEST(ArenaMemory, LetsGoOfBlocksThatAreTooSmall) {
  ArenaMemory memory;
  memory.reserve(kBytes, 2);
  memory.give_back(memory.take(2 * kBytes));
  EXPECT_EQ(memory.idle_bytes(), 2 * kBytes);
}

}  // namespace
}  // namespace tierup::kernels::net
