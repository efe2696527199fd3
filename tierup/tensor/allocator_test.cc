// The allocator: alignment, accounting, what comes back, and refusals that leave it usable.
#include "tierup/tensor/allocator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/sanitizers.h"

namespace tierup {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

std::optional<ErrorCode> refusal_of(size_t bytes) {
  try {
    free_bytes(allocate_bytes(bytes), bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(Allocator, BlocksOfAllSizesAreAlignedAndWhole) {
  for (const size_t bytes :
       {size_t{1}, size_t{65}, size_t{5000}, 2 * kMegabyte, 5 * kMegabyte + 7}) {
    void* block = allocate_bytes(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kTensorAlignment, 0U) << bytes;
    std::memset(block, 1, bytes);
    free_bytes(block, bytes);
  }
  EXPECT_EQ(allocate_bytes(0), nullptr);
}

TEST(Allocator, CountsWhatLivesAndTakesBlocksAgain) {
  const AllocatorStats before = allocator_stats();
  void* first = allocate_bytes(3 * kMegabyte);
  EXPECT_EQ(allocator_stats().live_bytes, before.live_bytes + static_cast<int64_t>(3 * kMegabyte));
  free_bytes(first, 3 * kMegabyte);
  EXPECT_EQ(allocator_stats().live_bytes, before.live_bytes);
  void* second = allocate_bytes(3 * kMegabyte);
  EXPECT_EQ(second, first);
  free_bytes(second, 3 * kMegabyte);
  release_thread_cache();
}

// Fresh pages cost more than the work of some operators, and huge ones 5 ms where the host took the
// memory back: a block that fits in what a thread keeps is made once.
TEST(Allocator, KeepsLargeBlocksUpToItsBound) {
  release_thread_cache();
  void* first = allocate_bytes(100 * kMegabyte);
  free_bytes(first, 100 * kMegabyte);
  const AllocatorStats before = allocator_stats();
  void* again = allocate_bytes(100 * kMegabyte);
  EXPECT_EQ(again, first);
  EXPECT_EQ(allocator_stats().system_count, before.system_count);
  free_bytes(again, 100 * kMegabyte);
  std::vector<void*> many;
  for (int i = 0; i < 100; ++i) many.push_back(allocate_bytes(100 * kMegabyte));
  for (void* block : many) free_bytes(block, 100 * kMegabyte);
  const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  const size_t share = pages / 32 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LE(allocator_stats().cached_bytes, static_cast<int64_t>(std::max(share, 128 * kMegabyte)));
  release_thread_cache();
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
}

TEST(Allocator, BlocksLargerThanAnyClassGoBackAtOnce) {
  release_thread_cache();
  constexpr size_t kBytes = 5120 * kMegabyte;
  try {
    free_bytes(allocate_bytes(kBytes), kBytes);
  } catch (const Error&) {
    GTEST_SKIP() << "the system has no address space for it";
  }
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
}

TEST(Allocator, LendsLargerBlocksThatGoBackToTheirClass) {
  release_thread_cache();
  void* large = allocate_bytes(kMegabyte);
  free_bytes(large, kMegabyte);
  const AllocatorStats before = allocator_stats();
  void* lent = allocate_bytes(kMegabyte / 4);
  EXPECT_EQ(lent, large);
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
  std::memset(lent, 1, kMegabyte / 4);
  void* other = allocate_bytes(kMegabyte);  // Of its own size: the large one is away.
  EXPECT_NE(other, large);
  free_bytes(lent, kMegabyte / 4);
  free_bytes(other, kMegabyte);
  EXPECT_EQ(allocator_stats().cached_bytes, static_cast<int64_t>(2 * kMegabyte));
  EXPECT_EQ(allocator_stats().system_count, before.system_count + 1);
  void* small = allocate_bytes(kMegabyte / 64);  // Sixty-four times as large is too much.
  EXPECT_NE(small, lent);
  EXPECT_NE(small, other);
  free_bytes(small, kMegabyte / 64);
  void* again = allocate_bytes(kMegabyte);
  std::memset(again, 1, kMegabyte);
  EXPECT_TRUE(again == large || again == other);
  free_bytes(again, kMegabyte);
  release_thread_cache();
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
}

// A small tensor in it would have a large one made anew soon, which is dearer than what it saved.
TEST(Allocator, ABlockOfEightTimesTheSizeIsLeftForItsOwn) {
  release_thread_cache();
  void* const large = allocate_bytes(16 * kMegabyte);
  free_bytes(large, 16 * kMegabyte);
  void* const small = allocate_bytes(2 * kMegabyte);
  EXPECT_NE(small, large);
  EXPECT_EQ(allocate_bytes(16 * kMegabyte), large);
  free_bytes(large, 16 * kMegabyte);
  free_bytes(small, 2 * kMegabyte);
  release_thread_cache();
}

// Fresh pages are a good part of a first call: layers that grow come to lie where smaller ones lay.
TEST(Allocator, TheFirstLargeBlockOfItsSizeLiesOverSmallerOnesThatAreKept) {
#ifdef TIERUP_ADDRESS_SANITIZER
  GTEST_SKIP() << "blocks come from the heap that the address sanitizer watches there";
#endif
  release_thread_cache();
  constexpr size_t kSmall = 6 * kMegabyte;
  constexpr size_t kLarge = 12 * kMegabyte;
  void* const first = allocate_bytes(kSmall);
  void* const second = allocate_bytes(kSmall);
  ASSERT_EQ(second, static_cast<char*>(first) + kSmall);
  for (void* block : {first, second}) free_bytes(block, kSmall);
  void* const large = allocate_bytes(kLarge);
  EXPECT_EQ(large, first);
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
  std::memset(large, 1, kLarge);
  free_bytes(large, kLarge);
  EXPECT_EQ(allocate_bytes(kSmall), large);  // Lent.
  void* const other = allocate_bytes(kSmall);
  free_bytes(other, kSmall);
  void* const again = allocate_bytes(kLarge);  // A second one takes nothing away.
  EXPECT_EQ(allocator_stats().cached_bytes, static_cast<int64_t>(kSmall));
  free_bytes(again, kLarge);
  free_bytes(large, kSmall);
  release_thread_cache();
  EXPECT_EQ(allocator_stats().cached_bytes, 0);
}

// A step of training frees more than a thread keeps at its end, and asks for it again.
TEST(Allocator, KeepsWhatWentAndWasAskedForAgain) {
  std::thread([] {
    constexpr size_t kBlock = 16 * kMegabyte;
    const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
    const size_t memory = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t count = std::max(memory / 32, 128 * kMegabyte) / kBlock + 4;
    if (memory / 4 < count * kBlock) GTEST_SKIP() << "a machine of little memory";
    int64_t asked = 0;
    for (int step = 0; step < 4; ++step) {
      asked = allocator_stats().system_count;
      std::vector<void*> blocks;
      for (size_t i = 0; i < count; ++i) blocks.push_back(allocate_bytes(kBlock));
      asked = allocator_stats().system_count - asked;
      for (void* block : blocks) free_bytes(block, kBlock);
      if (step == 0) EXPECT_EQ(asked, static_cast<int64_t>(count));
      if (step == 1) EXPECT_GT(asked, 0);
    }
    EXPECT_EQ(asked, 0);
    release_thread_cache();
  }).join();
}

TEST(Allocator, AThreadThatOnlyFreesWhatOthersMakeKeepsNothing) {
  constexpr size_t kBytes = 3000;
  std::vector<void*> blocks;
  std::thread maker([&] {
    for (int i = 0; i < 100; ++i) blocks.push_back(allocate_bytes(kBytes));
  });
  maker.join();
  std::thread([&] {
    const int64_t before = allocator_stats().cached_bytes;
    for (void* block : blocks) free_bytes(block, kBytes);
    EXPECT_EQ(allocator_stats().cached_bytes, before);
    free_bytes(allocate_bytes(kBytes), kBytes);  // One that was asked for is kept.
    EXPECT_GT(allocator_stats().cached_bytes, before);
  }).join();
}

TEST(Allocator, RefusalsAreErrorsAndLeaveItUsable) {
  EXPECT_EQ(refusal_of(size_t{1} << 50), ErrorCode::kOutOfMemory);
  set_memory_limit(allocator_stats().live_bytes + static_cast<int64_t>(kMegabyte));
  EXPECT_EQ(refusal_of(2 * kMegabyte), ErrorCode::kOutOfMemory);
  EXPECT_EQ(refusal_of(kMegabyte / 2), std::nullopt);
  set_memory_limit(0);
  EXPECT_EQ(refusal_of(2 * kMegabyte), std::nullopt);
}

}  // namespace
}  // namespace tierup
