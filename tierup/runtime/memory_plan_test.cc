#include "tierup/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "tierup/tensor/allocator.h"

namespace tierup::runtime {
namespace {

std::vector<BlockLife> random_lives(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  std::vector<BlockLife> lives;
  std::vector<uint32_t> alive;
  uint32_t clock = 0;
  while (lives.size() < count) {
    if (alive.empty() || random() % 5 < 3) {
      alive.push_back(static_cast<uint32_t>(lives.size()));
      lives.push_back({random() % 5000 + 1, clock++, BlockLife::kForever});
    } else {
      std::swap(alive[random() % alive.size()], alive.back());
      lives[alive.back()].end = clock++;
      alive.pop_back();
    }
  }
  return lives;
}

TEST(MemoryPlan, BlocksAliveTogetherNeverShareBytes) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const MemoryPlan plan(random_lives(seed, 60));
    const auto& blocks = plan.layout().blocks();
    for (size_t a = 0; a < blocks.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const bool together = plan.layout().lives()[a].begin < plan.layout().lives()[b].end &&
                              plan.layout().lives()[b].begin < plan.layout().lives()[a].end;
        const bool overlap = blocks[a].offset < blocks[b].offset + blocks[b].bytes &&
                             blocks[b].offset < blocks[a].offset + blocks[a].bytes;
        if (blocks[a].escapes || blocks[b].escapes) continue;
        ASSERT_FALSE(together && overlap) << "seed " << seed << ": " << a << " and " << b;
      }
    }
    EXPECT_GE(plan.layout().arena_bytes(), plan.layout().lower_bound());
  }
}

TEST(MemoryPlan, PlansAreCloseToTheLowerBound) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const MemoryPlan plan(random_lives(seed, 40));
    EXPECT_LE(static_cast<double>(plan.layout().arena_bytes()),
              1.1 * static_cast<double>(plan.layout().lower_bound()))
        << "seed " << seed;
  }
}

TEST(MemoryPlan, PredecessorsCoverWhateverLayThereLast) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const MemoryPlan plan(random_lives(seed, 60));
    std::vector<int64_t> last(plan.layout().arena_bytes(), -1);  // By byte.
    for (size_t i = 0; i < plan.layout().blocks().size(); ++i) {
      const BlockLayout::Block& block = plan.layout().blocks()[i];
      if (block.escapes) continue;
      const auto before = plan.layout().before(block);
      const size_t end = block.offset + staggered_bytes(block.bytes);
      for (size_t byte = block.offset; byte < end; ++byte) {
        if (last[byte] >= 0) {
          ASSERT_EQ(std::count(before.begin(), before.end(), last[byte]), 1)
              << "seed " << seed << ", byte " << byte << ": " << last[byte] << " before " << i;
        }
        last[byte] = static_cast<int64_t>(i);
      }
    }
  }
}

// Loops over several tensors would take loads for those of what they have just stored.
TEST(MemoryPlan, BlocksOfWholePagesDifferInTheirLastTwelveBits) {
  for (const size_t bytes : {size_t{4096}, size_t{4096} - 64, size_t{8192} + 64, size_t{1} << 20}) {
    const std::vector<BlockLife> lives(8, {bytes, 0, 8});
    const BlockLayout layout(lives);
    std::set<size_t> ends;
    for (const BlockLayout::Block& block : layout.blocks()) ends.insert(block.offset % 4096);
    EXPECT_EQ(ends.size(), lives.size()) << bytes;
    const std::vector<size_t> sorted(ends.begin(), ends.end());
    for (size_t i = 1; i < sorted.size(); ++i) EXPECT_GE(sorted[i] - sorted[i - 1], 256U) << bytes;
  }
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  // Each value dies once the next is made.
  std::vector<BlockLife> lives;
  for (uint32_t i = 0; i < 100; ++i) lives.push_back({1024, 2 * i, 2 * i + 3});
  const MemoryPlan plan(lives);
  EXPECT_EQ(plan.layout().arena_bytes(), 2048U);
  EXPECT_EQ(plan.layout().lower_bound(), 2048U);
}

// a, then b, a dies, then c; c is the result.
Ref<Storage> run_once(std::vector<size_t> sizes) {
  Ref<Storage> a = Storage::allocate(sizes[0]);
  const Ref<Storage> b = Storage::allocate(sizes[1]);
  a = nullptr;
  return Storage::allocate(sizes[2]);
}

TEST(ArenaScope, ASteadyRunAllocatesItsResultAlone) {
  std::vector<BlockLife> lives;
  {
    const RecordingScope scope;
    const Ref<Storage> result = run_once({256, 512, 128});
    lives = scope.lives();
  }
  ASSERT_EQ(lives.size(), 3U);
  EXPECT_EQ(lives[2].end, BlockLife::kForever);
  MemoryPlan plan(lives);
  { const ArenaScope warm(plan); }
  const int64_t before = allocator_stats().call_count;
  {
    const ArenaScope scope(plan);
    const Ref<Storage> result = run_once({256, 512, 128});
    EXPECT_TRUE(result->owns_memory());
  }
  EXPECT_EQ(allocator_stats().call_count - before, 1);
}

TEST(ArenaScope, ARunOfOtherSizesIsServedByTheAllocator) {
  MemoryPlan plan({{256, 0, 2}, {512, 1, 3}});
  const ArenaScope scope(plan);
  const Ref<Storage> planned = Storage::allocate(256);
  const Ref<Storage> other = Storage::allocate(300);
  const Ref<Storage> rest = Storage::allocate(512);
  EXPECT_FALSE(planned->owns_memory());
  EXPECT_TRUE(other->owns_memory());
  EXPECT_TRUE(rest->owns_memory());
}

TEST(ArenaScope, ABlockWhosePlaceIsStillInUseIsNotHandedOut) {
  MemoryPlan plan({{256, 0, 1}, {256, 2, 3}});  // The second lies where the first lay.
  ASSERT_EQ(plan.layout().arena_bytes(), 256U);
  const ArenaScope scope(plan);
  const Ref<Storage> first = Storage::allocate(256);
  const Ref<Storage> second = Storage::allocate(256);  // The first one still lives.
  EXPECT_NE(first->data(), second->data());
  EXPECT_TRUE(second->owns_memory());
}

TEST(ArenaScope, AnArenaOfWhichSomethingLivesIsNotUsedAgain) {
  MemoryPlan plan({{256, 0, 1}});
  Ref<Storage> escaped;
  {
    const ArenaScope scope(plan);
    escaped = Storage::allocate(256);
  }
  const ArenaScope scope(plan);
  EXPECT_NE(Storage::allocate(256)->data(), escaped->data());
}

TEST(ArenaScope, AResizedBlockMovesToMemoryOfItsOwn) {
  MemoryPlan plan({{256, 0, 1}});
  const ArenaScope scope(plan);
  const Ref<Storage> storage = Storage::allocate(256);
  static_cast<char*>(storage->data())[255] = 42;
  storage->resize(1024);
  EXPECT_TRUE(storage->owns_memory());
  EXPECT_EQ(static_cast<char*>(storage->data())[255], 42);
}

}  // namespace
}  // namespace tierup::runtime
