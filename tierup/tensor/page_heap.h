// PageHeap: blocks of 64 KB to 32 MB, carved out of huge pages.
//
// Fresh memory costs a fault for each page of 4 KB, a microsecond or two on virtual machines: a
// quarter of a small convolutional net's first call. A huge page of 2 MB costs as much as 75 of
// them (90 us). A single block rarely fills one, so blocks lie side by side in regions of address
// space that ask for huge pages, each where there first is room for it: memory is touched from the
// region's beginning only, as far as it is needed. A huge page in which nothing lies any more is
// given back to the system. Where there are no huge pages, all of this is done with small ones; so
// it is in a region where a page, the first fresh one of a block, shows that they are dear: a
// virtual machine that gave memory back to its host takes up to 5 ms for each, while it still has
// small ones.
//
// For what is asked for rarely: threads keep the blocks that they freed (allocator.h).
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace tierup {

class PageHeap {
 public:
  // From which time on a huge page is dear.
  explicit PageHeap(std::chrono::nanoseconds dear = std::chrono::microseconds(600)) : dear_(dear) {}
  // Gives everything back, blocks that are not free as well.
  ~PageHeap();
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  static constexpr size_t kLeastBytes = size_t{64} << 10;
  static constexpr size_t kMostBytes = size_t{32} << 20;

  // All threads' heap, which never ends.
  static PageHeap& of_process();

  // `bytes` from kLeastBytes to kMostBytes, rounded up to granules of 16 KB; null if the system
  // refuses address space. Any thread, as the others.
  void* allocate(size_t bytes);
  // What the block has, rounded up; 0 if it is not of this heap.
  size_t bytes_of(const void* block) const;
  // Whether the block was of this heap, and is free now.
  bool free(void* block);
  // Has the system make the pages of the first room for so many bytes, until stopped. The room
  // stays free: blocks that come to lie there, meanwhile too, meet fewer faults.
  void touch_ahead(size_t bytes, const std::stop_token& stop);

 private:
  static constexpr size_t kGranule = size_t{16} << 10;
  static constexpr size_t kHugePage = size_t{2} << 20;
  static constexpr size_t kRegionBytes = size_t{64} << 20;  // And aligned to it.
  static constexpr size_t kGranules = kRegionBytes / kGranule;
  static constexpr size_t kGranulesOfPage = kHugePage / kGranule;
  static constexpr size_t kMostRegions = 512;

  struct Region {
    char* begin;
    std::array<uint16_t, kGranules> sizes;  // In granules, of the block that begins at each.
    std::bitset<kGranules> used;
    size_t given = 0;  // Granules before it were in some block.
  };

  struct Room {
    size_t first;
    size_t granules;
  };

  static Region* make_region();
  static size_t first_room(const Region& region, size_t granules);
  static size_t first_granule(const Region& region, const void* block);
  static Room release(Region& region, const void* block);
  static void give_back(Region& region, const Room& room);
  Region* region_of(const void* block) const;
  void* take(size_t bytes, char*& fresh);
  bool add_region();
  void touch_fresh(char* page) const;

  std::chrono::nanoseconds dear_;
  std::mutex mutex_;  // Of what regions say and of new ones.
  // Filled one after the other, never emptied.
  std::array<std::atomic<Region*>, kMostRegions> regions_{};
  std::atomic<size_t> count_{0};
};

}  // namespace tierup
