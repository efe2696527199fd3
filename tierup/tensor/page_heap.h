// PageHeap: blocks of 64 KB to 64 MB, carved out of regions of address space.
//
// Fresh memory costs a fault for each page of 4 KB, a microsecond or two on virtual machines: a
// quarter of a small convolutional net's first call. So blocks lie side by side, each where there
// first is room for it: memory is touched from a region's beginning only, as far as it is needed,
// and can be touched ahead. What stays for long and is read all over again may ask for huge pages
// of 2 MB, of which the processor finds more without looking them up; it lies in regions of its
// own. A huge page costs as much as 75 small ones, but up to 5 ms on a virtual machine that gave
// memory back to its host: nothing that a caller waits for should ask for them. Where there are
// none, small ones are used. A stretch of 2 MB in which nothing lies any more is given back to the
// system.
//
// For what is asked for rarely: threads keep the blocks that they freed (allocator.h).
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>

#include "tierup/tensor/pages.h"

namespace tierup {

enum class PageKind : uint8_t { kSmall, kHuge };

class PageHeap {
 public:
  PageHeap() = default;
  // Gives everything back, blocks that are not free as well.
  ~PageHeap();
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  static constexpr size_t kLeastBytes = size_t{64} << 10;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // All threads' heap, which never ends.
  static PageHeap& of_process();

  // `bytes` from kLeastBytes to kMostBytes, rounded up to granules of 16 KB; null if the system
  // refuses address space. Any thread, as the others.
  void* allocate(size_t bytes, PageKind kind = PageKind::kSmall);
  // As allocate(), for small pages, in the first room that there is without the blocks of `spare`,
  // in which nothing is kept: pages that they have need not be made again. Those whose place the
  // block took become null and are gone; the others stay.
  void* allocate_over(size_t bytes, std::span<void*> spare);
  // What the block has, rounded up; 0 if it is not of this heap.
  size_t bytes_of(const void* block) const;
  // Whether the block was of this heap, and is free now.
  bool free(void* block);
  // From now on stretches in which nothing lies any more stay as they are until the system needs
  // memory (MADV_FREE), and count for the process till then: for processes that will make again
  // what they free, as those do that swap weights.
  void expect_more() { expects_more_.store(true, std::memory_order_relaxed); }
  // Has the system make the small pages of the first room for so many bytes, until stopped. The
  // room stays free: blocks that come to lie there, meanwhile too, meet fewer faults.
  void touch_ahead(size_t bytes, const std::stop_token& stop);

 private:
  static constexpr size_t kGranule = size_t{16} << 10;
  static constexpr size_t kRegionBytes = size_t{64} << 20;  // And aligned to it.
  static constexpr size_t kGranules = kRegionBytes / kGranule;
  static constexpr size_t kGranulesOfPage = kHugePageBytes / kGranule;
  static constexpr size_t kMostRegions = 512;

  struct Region {
    char* begin;
    PageKind kind;
    std::array<uint16_t, kGranules> sizes;  // In granules, of the block that begins at each.
    std::bitset<kGranules> used;
  };

  struct Room {
    size_t first;
    size_t granules;
  };

  static Region* make_region(PageKind kind);
  static size_t first_room(const Region& region, size_t granules);
  static size_t first_granule(const Region& region, const void* block);
  static Room release(Region& region, const void* block);
  static void* occupy(Region& region, const Room& room);
  void settle(void*& spare, const Room& room, const Room& taken) const;
  void give_back(Region& region, const Room& room) const;
  Region* region_of(const void* block) const;
  void* take(size_t bytes, PageKind kind);
  bool add_region(PageKind kind);

  std::mutex mutex_;  // Of what regions say and of new ones.
  // Filled one after the other, never emptied.
  std::array<std::atomic<Region*>, kMostRegions> regions_{};
  std::atomic<size_t> count_{0};
  std::atomic<bool> expects_more_{false};
};

}  // namespace tierup
