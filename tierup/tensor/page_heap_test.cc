#include "tierup/tensor/page_heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tierup/base/emulator_fixture.h"
#include "tierup/base/sanitizers.h"

namespace tierup {
namespace {

constexpr size_t kKilobyte = size_t{1} << 10;
constexpr size_t kMegabyte = size_t{1} << 20;

// MiB of this range that are in memory.
size_t resident_mib(const char* begin, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(bytes / page);
  if (mincore(const_cast<char*>(begin), bytes, pages.data()) != 0) std::abort();
  const auto there = std::count_if(pages.begin(), pages.end(), [](auto x) { return (x & 1) != 0; });
  return static_cast<size_t>(there) * page / kMegabyte;
}

TEST(PageHeap, BlocksOfAllSizesAreAlignedWholeAndApart) {
  PageHeap heap;
  std::vector<std::pair<char*, size_t>> blocks;
  for (const size_t bytes : {64 * kKilobyte, 65 * kKilobyte, 3 * kMegabyte, 80 * kKilobyte,
                             32 * kMegabyte, 31 * kMegabyte, 2 * kMegabyte, 5 * kMegabyte}) {
    auto* block = static_cast<char*>(heap.allocate(bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0U);
    EXPECT_GE(heap.bytes_of(block), bytes);
    EXPECT_LT(heap.bytes_of(block), bytes + 16 * kKilobyte);
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    EXPECT_EQ(std::count(block, block + bytes, static_cast<char>(i)), bytes);
    EXPECT_TRUE(heap.free(block));
  }
}

TEST(PageHeap, TakesTheFirstRoomThatIsLargeEnough) {
  PageHeap heap;
  void* first = heap.allocate(128 * kKilobyte);
  void* second = heap.allocate(kMegabyte);
  void* third = heap.allocate(kMegabyte);
  heap.free(first);
  heap.free(second);
  EXPECT_EQ(heap.allocate(kMegabyte), first);  // The two rooms are one.
  EXPECT_EQ(heap.allocate(64 * kKilobyte), static_cast<char*>(first) + kMegabyte);
  heap.free(third);
}

TEST(PageHeap, ABlockTakesThePlaceOfSpareOnes) {
  PageHeap heap;
  std::vector<void*> spare;
  for (int i = 0; i < 3; ++i) {
    spare.push_back(heap.allocate(4 * kMegabyte));
    std::memset(spare.back(), 7, 4 * kMegabyte);
  }
  void* wall = heap.allocate(kMegabyte);
  spare.push_back(heap.allocate(2 * kMegabyte));
  void* const first = spare[0];
  void* const last = spare[3];
  auto* block = static_cast<char*>(heap.allocate_over(6 * kMegabyte, spare));
  EXPECT_EQ(block, first);
  EXPECT_EQ(spare[0], nullptr);
  EXPECT_EQ(spare[1], nullptr);
  EXPECT_NE(spare[2], nullptr);
  EXPECT_EQ(spare[3], last);
  EXPECT_EQ(resident_mib(block, 6 * kMegabyte), 6U);                  // Made before.
  EXPECT_EQ(resident_mib(block + 6 * kMegabyte, 2 * kMegabyte), 0U);  // Where nothing lies now.
  EXPECT_EQ(
      std::count(static_cast<char*>(spare[2]), static_cast<char*>(spare[2]) + 4 * kMegabyte, 7),
      static_cast<std::ptrdiff_t>(4 * kMegabyte));
  EXPECT_EQ(heap.allocate(2 * kMegabyte), block + 6 * kMegabyte);
  for (void* some : {static_cast<void*>(block), spare[2], wall, last}) EXPECT_TRUE(heap.free(some));
}

TEST(PageHeap, SpareBlocksThatMakeNoRoomStay) {
  PageHeap heap;
  std::vector<void*> spare = {heap.allocate(4 * kMegabyte)};
  void* wall = heap.allocate(kMegabyte);
  void* const first = spare[0];
  void* block = heap.allocate_over(6 * kMegabyte, spare);
  EXPECT_EQ(block, static_cast<char*>(wall) + kMegabyte);
  EXPECT_EQ(spare[0], first);
  EXPECT_EQ(heap.bytes_of(first), 4 * kMegabyte);
  for (void* some : {first, wall, block}) EXPECT_TRUE(heap.free(some));
}

TEST(PageHeap, KnowsItsOwnBlocksOnly) {
  PageHeap heap;
  std::vector<char> other(kMegabyte);
  EXPECT_EQ(heap.bytes_of(other.data()), 0U);
  EXPECT_FALSE(heap.free(other.data()));
  void* own = heap.allocate(kMegabyte);
  EXPECT_EQ(heap.bytes_of(other.data()), 0U);
  EXPECT_TRUE(heap.free(own));
}

TEST(PageHeap, GivesBackThePagesInWhichNothingLies) {
  PageHeap heap;
  constexpr size_t kBytes = 30 * kMegabyte;
  auto* below = static_cast<char*>(heap.allocate(kMegabyte));
  auto* block = static_cast<char*>(heap.allocate(kBytes));
  auto* above = static_cast<char*>(heap.allocate(kMegabyte));
  for (auto* some : {below, above}) std::memset(some, 7, kMegabyte);
  std::memset(block, 7, kBytes);
  EXPECT_EQ(resident_mib(block, kBytes), 30U);
  heap.free(block);
  EXPECT_LE(resident_mib(block, kBytes), 2U);  // Of the pages that the neighbours lie in.
  EXPECT_EQ(std::count(below, below + kMegabyte, 7), kMegabyte);
  EXPECT_EQ(std::count(above, above + kMegabyte, 7), kMegabyte);
  heap.free(below);
  heap.free(above);
  EXPECT_EQ(resident_mib(below, kBytes + 2 * kMegabyte), 0U);
}

TEST(PageHeap, LeavesThemWhereMoreIsExpected) {
  PageHeap heap;
  constexpr size_t kBytes = 30 * kMegabyte;
  auto* block = static_cast<char*>(heap.allocate(kBytes));
  std::memset(block, 7, kBytes);
  heap.expect_more();
  heap.free(block);
  EXPECT_GE(resident_mib(block, kBytes), 15U);  // All, unless the system needs memory just now.
  auto* again = static_cast<char*>(heap.allocate(kBytes));
  EXPECT_EQ(again, block);
  std::memset(again, 8, kBytes);
  EXPECT_EQ(std::count(again, again + kBytes, 8), static_cast<std::ptrdiff_t>(kBytes));
  heap.free(again);
}

TEST(PageHeap, PagesTouchedAheadAreThereForTheNextBlocks) {
#ifdef TIERUP_THREAD_SANITIZER
  GTEST_SKIP() << "pages are not touched ahead there: it would be told of as a race";
#endif
  PageHeap heap;
  constexpr size_t kBytes = 16 * kMegabyte;
  heap.touch_ahead(kBytes, {});
  auto* block = static_cast<char*>(heap.allocate(kBytes));
  EXPECT_EQ(resident_mib(block, kBytes), 16U);
  heap.free(block);
  EXPECT_EQ(resident_mib(block, kBytes), 0U);
}

// Of the mapping that holds an address: "rd wr mr mw me ac hg".
std::string mapping_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_wanted = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<uintptr_t>(address);
      is_wanted = at >= begin && at < end;
    } else if (is_wanted && line.starts_with("VmFlags:")) {
      return line;
    }
  }
  return {};
}

TEST(PageHeap, BlocksForHugePagesLieInRegionsOfTheirOwn) {
  PageHeap heap;
  void* small = heap.allocate(4 * kMegabyte);
  void* huge = heap.allocate(4 * kMegabyte, PageKind::kHuge);
  EXPECT_EQ(heap.allocate(64 * kKilobyte), static_cast<char*>(small) + 4 * kMegabyte);
  EXPECT_EQ(heap.allocate(64 * kKilobyte, PageKind::kHuge),
            static_cast<char*>(huge) + 4 * kMegabyte);
  const std::string flags = mapping_flags(huge);
  if (is_emulated() || flags.empty() || access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
    GTEST_SKIP() << "the system does not tell";
  EXPECT_NE(flags.find(" hg"), std::string::npos) << flags;
  EXPECT_EQ(mapping_flags(small).find(" hg"), std::string::npos) << mapping_flags(small);
}

TEST(PageHeap, ServesProcessesThatMayHaveNoHugePages) {
  if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) GTEST_SKIP() << "the system has no such switch";
  PageHeap heap;
  for (const PageKind kind : {PageKind::kSmall, PageKind::kHuge}) {
    auto* block = static_cast<char*>(heap.allocate(6 * kMegabyte, kind));
    ASSERT_NE(block, nullptr);
    std::memset(block, 3, 6 * kMegabyte);
    EXPECT_EQ(std::count(block, block + 6 * kMegabyte, 3), 6 * kMegabyte);
    heap.free(block);
  }
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

TEST(PageHeap, ServesManyThreads) {
  PageHeap heap;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&heap, number] {
      std::vector<std::pair<char*, size_t>> blocks;
      for (size_t i = 0; i < 400; ++i) {
        const size_t bytes = (i * 37 % 29 + 4) * 16 * kKilobyte;
        blocks.emplace_back(static_cast<char*>(heap.allocate(bytes)), bytes);
        std::memset(blocks.back().first, number, bytes);
        if (i % 3 == 0) continue;
        const auto [block, size] = blocks[i % blocks.size()];
        EXPECT_EQ(std::count(block, block + size, static_cast<char>(number)), size);
        heap.free(block);
        blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i % blocks.size()));
      }
      for (const auto& [block, size] : blocks) heap.free(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tierup
