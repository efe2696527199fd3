#include "tierup/tensor/page_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "tierup/base/sanitizers.h"
#include "tierup/tensor/pages.h"

namespace tierup {
namespace {

// A page of room that others may be given meanwhile: the thread sanitizer would see a race.
#ifdef TIERUP_THREAD_SANITIZER
void touch_shared(char*) {}
#else
void touch_shared(char* byte) { touch_page(byte); }
#endif

size_t granules_of(size_t bytes, size_t granule) { return (bytes + granule - 1) / granule; }

}  // namespace

PageHeap& PageHeap::of_process() {
  // Tensors may outlive every static object, and be freed before one of its blocks was asked for,
  // where nothing may be thrown: it is made without memory of the heap.
  alignas(PageHeap) static std::byte place[sizeof(PageHeap)];
  static PageHeap& heap = *new (place) PageHeap;
  return heap;
}

PageHeap::~PageHeap() {
  for (size_t i = 0; i < count_; ++i) {
    const std::unique_ptr<Region> region(regions_[i].load());
    munmap(region->begin, kRegionBytes);
  }
}

void* PageHeap::allocate(size_t bytes, PageKind kind) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return take(bytes, kind);
}

void* PageHeap::take(size_t bytes, PageKind kind) {
  const size_t granules = granules_of(bytes, kGranule);
  for (size_t i = 0;; ++i) {
    if (i == count_.load(std::memory_order_relaxed) && !add_region(kind)) return nullptr;
    Region& region = *regions_[i].load(std::memory_order_relaxed);
    if (region.kind != kind) continue;
    const size_t first = first_room(region, granules);
    if (first != kGranules) return occupy(region, {first, granules});
  }
}

void* PageHeap::allocate_over(size_t bytes, std::span<void*> spare) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Room> rooms(spare.size());
  for (size_t i = 0; i < spare.size(); ++i) {
    Region* region = region_of(spare[i]);
    if (region != nullptr && region->kind == PageKind::kSmall) {
      rooms[i] = release(*region, spare[i]);
    }
  }
  void* block = take(bytes, PageKind::kSmall);
  for (size_t i = 0; i < spare.size(); ++i) {
    if (rooms[i].granules == 0) continue;
    Region& region = *region_of(spare[i]);
    const bool is_near = block != nullptr && region_of(block) == &region;
    const Room taken =
        is_near ? Room{first_granule(region, block), granules_of(bytes, kGranule)} : Room{};
    settle(spare[i], rooms[i], taken);
  }
  return block;
}

// What becomes of a spare block's room when another one of the region was taken. That one begins
// where room begins, and so never within a spare block.
void PageHeap::settle(void*& spare, const Room& room, const Room& taken) const {
  Region& region = *region_of(spare);
  const size_t end = room.first + room.granules;
  const size_t taken_end = taken.first + taken.granules;
  if (room.first >= taken_end || end <= taken.first) {
    occupy(region, room);
    return;
  }
  spare = nullptr;
  if (end > taken_end) give_back(region, {taken_end, end - taken_end});
}

size_t PageHeap::bytes_of(const void* block) const {
  const Region* region = region_of(block);
  if (region == nullptr) return 0;
  return region->sizes[first_granule(*region, block)] * kGranule;
}

bool PageHeap::free(void* block) {
  Region* region = region_of(block);
  if (region == nullptr) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Room room = release(*region, block);
  give_back(*region, room);
  return true;
}

void PageHeap::touch_ahead(size_t bytes, const std::stop_token& stop) {
  char* block = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    block = static_cast<char*>(take(bytes, PageKind::kSmall));
    if (block == nullptr) return;
    release(*region_of(block), block);
  }
  for (size_t at = 0; at < bytes && !stop.stop_requested(); at += kSmallPageBytes)
    touch_shared(block + at);
}

PageHeap::Room PageHeap::release(Region& region, const void* block) {
  const size_t first = first_granule(region, block);
  const Room room{first, region.sizes[first]};
  for (size_t at = first; at < first + room.granules; ++at) region.used.reset(at);
  region.sizes[first] = 0;
  return room;
}

void* PageHeap::occupy(Region& region, const Room& room) {
  for (size_t at = room.first; at < room.first + room.granules; ++at) region.used.set(at);
  region.sizes[room.first] = static_cast<uint16_t>(room.granules);
  return region.begin + room.first * kGranule;
}

// Where so many granules are free first; kGranules if nowhere.
size_t PageHeap::first_room(const Region& region, size_t granules) {
  size_t room = 0;
  for (size_t at = 0; at < kGranules; ++at) {
    room = region.used.test(at) ? 0 : room + 1;
    if (room == granules) return at + 1 - granules;
  }
  return kGranules;
}

// The huge pages which this room lies in, and nothing else. Nobody may take them meanwhile.
void PageHeap::give_back(Region& region, const Room& room) const {
  const auto is_empty = [&](size_t page) {
    const size_t begin = page * kGranulesOfPage;
    for (size_t at = begin; at < begin + kGranulesOfPage; ++at) {
      if (region.used.test(at)) return false;
    }
    return true;
  };
  size_t begin = room.first / kGranulesOfPage;
  size_t end = (room.first + room.granules - 1) / kGranulesOfPage + 1;
  if (!is_empty(begin)) ++begin;
  if (begin < end && !is_empty(end - 1)) --end;  // Between them, there is only this room.
  if (begin >= end) return;
  const int advice = expects_more_.load(std::memory_order_relaxed) ? MADV_FREE : MADV_DONTNEED;
  madvise(region.begin + begin * kHugePageBytes, (end - begin) * kHugePageBytes, advice);
}

size_t PageHeap::first_granule(const Region& region, const void* block) {
  return static_cast<size_t>(static_cast<const char*>(block) - region.begin) / kGranule;
}

PageHeap::Region* PageHeap::region_of(const void* block) const {
  const auto address = reinterpret_cast<uintptr_t>(block);
  const auto* begin = reinterpret_cast<const char*>(address / kRegionBytes * kRegionBytes);
  const size_t count = count_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    Region* region = regions_[i].load(std::memory_order_relaxed);
    if (region->begin == begin) return region;
  }
  return nullptr;
}

bool PageHeap::add_region(PageKind kind) {
  const size_t count = count_.load(std::memory_order_relaxed);
  Region* region = count < kMostRegions ? make_region(kind) : nullptr;
  if (region == nullptr) return false;
  regions_[count].store(region, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
  return true;
}

// Twice the address space is asked for, so that an aligned region is in it.
PageHeap::Region* PageHeap::make_region(PageKind kind) {
  void* space = mmap(nullptr, 2 * kRegionBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  auto* const all = static_cast<char*>(space);
  const size_t before = -reinterpret_cast<uintptr_t>(all) % kRegionBytes;
  char* const begin = all + before;
  if (before > 0) munmap(all, before);
  if (before < kRegionBytes) munmap(begin + kRegionBytes, kRegionBytes - before);
  // A refusal costs nothing. Systems that give huge pages to all are asked not to.
  madvise(begin, kRegionBytes, kind == PageKind::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  auto* region = new Region{};
  region->begin = begin;
  region->kind = kind;
  return region;
}

}  // namespace tierup
