#include "tierup/base/heap_ahead.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "tierup/base/sanitizers.h"

namespace tierup {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBlock = size_t{64} << 10;

TEST(HeapAhead, WhatTheHeapGivesOutMeanwhileIsLeftAsItIs) {
  HeapAhead heap(size_t{8} << 20);
  std::thread beside([&] { heap.touch({}); });
  std::vector<std::vector<char>> blocks;
  for (int i = 0; i < 100; ++i) blocks.emplace_back(kBlock, static_cast<char>(i));
  beside.join();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(std::count(blocks[i].begin(), blocks[i].end(), static_cast<char>(i)), kBlock);
  }
}

// Of the whole process, in pages.
int64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages >> pages;
  return pages;
}

TEST(HeapAhead, NothingIsTouchedOnceStopped) {
  std::stop_source stop;
  stop.request_stop();
  constexpr size_t kBytes = size_t{32} << 20;
  HeapAhead heap(kBytes);
  const int64_t before = resident_memory();
  heap.touch(stop.get_token());
  EXPECT_LT(resident_memory() - before, static_cast<int64_t>(kBytes / kPage / 4));
}

#if !defined(TIERUP_ADDRESS_SANITIZER) && !defined(TIERUP_THREAD_SANITIZER) && defined(__GLIBC__)
// Of a block's pages that are wholly in it.
size_t resident_pages(const char* block) {
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + kPage - 1) / kPage * kPage;
  const size_t pages = kBlock / kPage - 1;
  std::vector<unsigned char> present(pages);
  if (mincore(reinterpret_cast<void*>(begin), pages * kPage, present.data()) != 0) return 0;
  return static_cast<size_t>(
      std::count_if(present.begin(), present.end(), [](unsigned char p) { return (p & 1) != 0; }));
}

TEST(HeapAhead, BlocksComeWithPages) {
  void* probe = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool has_populate = madvise(probe, kPage, 23) == 0;
  munmap(probe, kPage);
  if (!has_populate) GTEST_SKIP() << "the system is too old";
  HeapAhead heap(size_t{16} << 20);
  heap.touch({});
  size_t pages = 0;
  std::vector<std::unique_ptr<char, decltype(&std::free)>> blocks;
  for (int i = 0; i < 128; ++i) {
    blocks.emplace_back(static_cast<char*>(std::malloc(kBlock)), &std::free);
    pages += resident_pages(blocks.back().get());
  }
  EXPECT_GT(pages, 128 * (kBlock / kPage - 1) / 2);
}
#endif

}  // namespace
}  // namespace tierup
