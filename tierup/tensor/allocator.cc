// Size classes are powers of two with four steps between them (waste below 25 %); every block
// is rounded to its class, so free_bytes(pointer, bytes) finds the class again without a header.
//
// Where no block of the class is there, a large one may be lent that is up to five or six times as
// large: a fresh page costs more to come by (a microsecond on virtual machines) than to work on,
// and memory that was just used is near. A larger one is left for tensors of its size, which would
// have more fresh pages soon than were saved. What is kept is no more for that: blocks are only
// made of the wanted size, and one that was lent goes back to its own class (block_bytes tells it).
//
// The first large block of a class that has to be made comes to lie over smaller ones that are
// kept, where they lie side by side: a net whose layers grow would have fresh pages for each of
// their sizes otherwise, and keep them all.
#include "tierup/tensor/allocator.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <bitset>
#include <new>
#include <vector>

#include "tierup/base/block_marks.h"
#include "tierup/base/error.h"
#include "tierup/base/memory_use.h"
#include "tierup/tensor/block_memory.h"

namespace tierup {
namespace {

constexpr size_t kLeastThreadCacheBytes = size_t{128} << 20;
constexpr size_t kCachedShareOfMemory = 32;  // Of all cores' threads together: one part in so many.
constexpr size_t kWantedShareOfMemory = 4;  // Of all threads together, where it is asked for again.
constexpr size_t kClassCount = 4 * 26;      // Up to 4 GB; larger blocks are not kept.
constexpr size_t kLeastLentBytes = size_t{16} << 10;
constexpr size_t kLentClasses = 10;                   // So many above.
constexpr size_t kFreshBlocks = 8;                    // Of one class, of a thread's first call.
constexpr size_t kLeastLaidOver = size_t{256} << 10;  // Pages of less are made sooner.
constexpr size_t kDearBytes = size_t{32} << 20;       // Worth huge pages, if made again and again.

struct Counters {
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> peak{0};
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> system_calls{0};
  std::atomic<int64_t> cached{0};
  std::atomic<int64_t> limit{0};
};

Counters& counters() {
  static Counters instance;
  return instance;
}

size_t memory_bytes() {
  return static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
         static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// What a thread keeps in any case.
size_t least_cached_bytes() {
  static const size_t bytes = [] {
    const auto cores = static_cast<size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
    return std::max(kLeastThreadCacheBytes, memory_bytes() / (kCachedShareOfMemory * cores));
  }();
  return bytes;
}

// What all threads keep together at most, above that.
int64_t most_cached_bytes() {
  static const auto bytes = static_cast<int64_t>(memory_bytes() / kWantedShareOfMemory);
  return bytes;
}

struct SizeClass {
  size_t index;
  size_t bytes;
};

size_t bytes_of_class(size_t index) {
  if (index == 0) return 64;
  const size_t power = (index - 1) / 4 + 6;
  return (size_t{1} << power) + ((index - 1) % 4 + 1) * (size_t{1} << (power - 2));
}

SizeClass size_class(size_t bytes) {
  if (bytes <= 64) return {0, 64};
  const size_t power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes <= 2^(power+1)
  const size_t step = size_t{1} << (power - 2);
  const size_t steps = (bytes - (size_t{1} << power) + step - 1) / step;  // 1..4
  const size_t index = (power - 6) * 4 + steps;
  return {index, bytes_of_class(index)};
}

// The class that a block serves which was made for this one or a larger one.
SizeClass class_of_block(void* block, const SizeClass& least) {
  if (least.bytes < kLeastLentBytes) return least;
  const size_t usable = block_bytes(block);
  const SizeClass above = size_class(usable);
  const size_t index = above.bytes == usable ? above.index : above.index - 1;
  return index > least.index ? SizeClass{index, bytes_of_class(index)} : least;
}

class ThreadCache {
 public:
  ~ThreadCache() { clear(); }

  void* take(const SizeClass& size) {
    const size_t more = size.bytes >= kLeastLentBytes ? kLentClasses : 0;
    const size_t end = std::min(size.index + more + 1, kClassCount);
    for (size_t index = size.index; index < end; ++index) {
      if (bins_[index].empty()) continue;
      void* block = bins_[index].back();
      bins_[index].pop_back();
      account(-static_cast<int64_t>(bytes_of_class(index)));
      return block;
    }
    if (size.index < kClassCount) ++missed_[size.index];
    const size_t back = std::min(size.bytes, gone_);
    gone_ -= back;
    wanted_ += back;
    return nullptr;
  }

  // A new block; the first of its class in the place of kept ones, if there is room without them:
  // more often, a class might take what another one needs in each call. Null if there is no memory.
  void* make(const SizeClass& size) {
    if (size.bytes < kLeastLaidOver || size.index >= kClassCount || was_laid_over_[size.index]) {
      return allocate_block(size.bytes);
    }
    was_laid_over_.set(size.index);
    return make_over_kept(size);
  }

  bool put(void* block, const SizeClass& least) {
    const SizeClass size = class_of_block(block, least);
    if (size.index >= kClassCount || bins_[size.index].size() >= missed_[size.index]) return false;
    if (!has_room(size.bytes)) {
      gone_ += size.bytes;
      return false;
    }
    if (!add(bins_[size.index], block)) return false;
    mark_unusable(block, size.bytes);
    account(static_cast<int64_t>(size.bytes));
    return true;
  }

  // Whether more blocks of the class were made than a call has at a time: they come from the system
  // and go back to it each time, and cheap pages matter more than the first call.
  bool is_made_again(const SizeClass& size) const {
    return size.index < kClassCount && missed_[size.index] > kFreshBlocks;
  }

  void clear() {
    for (auto& bin : bins_) {
      for (void* block : bin) free_block(block);
      bin.clear();
    }
    account(-static_cast<int64_t>(held_));
    was_laid_over_.reset();
  }

 private:
  void* make_over_kept(const SizeClass& size) {
    std::vector<void*> kept;
    each_smaller_bin(size, [&](size_t, std::vector<void*>& bin) {
      kept.insert(kept.end(), bin.begin(), bin.end());
    });
    void* block = allocate_block_over(size.bytes, kept);
    size_t next = 0;
    each_smaller_bin(size, [&](size_t index, std::vector<void*>& bin) {
      for (void*& place : bin) place = kept[next++];
      const size_t gone = std::erase(bin, nullptr);
      missed_[index] -= std::min(gone, missed_[index]);  // They will have to be made again.
      account(-static_cast<int64_t>(gone * bytes_of_class(index)));
    });
    return block;
  }
  template <typename Visit>
  void each_smaller_bin(const SizeClass& size, const Visit& visit) {
    for (size_t i = size_class(PageHeap::kLeastBytes).index; i < size.index; ++i) {
      if (!bins_[i].empty()) visit(i, bins_[i]);
    }
  }
  bool has_room(size_t bytes) const {
    if (held_ + bytes <= least_cached_bytes()) return true;
    return held_ + bytes <= least_cached_bytes() + wanted_ &&
           counters().cached.load(std::memory_order_relaxed) + static_cast<int64_t>(bytes) <=
               most_cached_bytes();
  }
  // Blocks are given back where nothing may be thrown, and where memory may be short.
  static bool add(std::vector<void*>& bin, void* block) noexcept {
    try {
      bin.push_back(block);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  void account(int64_t delta) {
    held_ += static_cast<size_t>(delta);
    counters().cached.fetch_add(delta, std::memory_order_relaxed);
  }

  std::array<std::vector<void*>, kClassCount> bins_;
  // How often a block of the class was asked for and none was there. No more are kept: a thread
  // that only frees what others make would pile them up.
  std::array<size_t, kClassCount> missed_{};
  std::bitset<kClassCount> was_laid_over_;
  size_t held_ = 0;
  size_t gone_ = 0;    // Given back to the system for want of room, and not asked for since.
  size_t wanted_ = 0;  // Given back and then asked for again: so much more is kept from then on.
};

// Set while the thread's cache is alive: tensors freed by later thread-local destructors bypass it.
thread_local bool cache_ended = false;
struct CacheHolder {
  ThreadCache cache;
  ~CacheHolder() { cache_ended = true; }
};

ThreadCache* thread_cache() {
  if (cache_ended) return nullptr;
  thread_local CacheHolder holder;
  return &holder.cache;
}

[[noreturn]] void fail_memory(size_t bytes, int64_t live, int64_t limit) {
  if (limit > 0) {
    fail(ErrorCode::kOutOfMemory,
         "out of memory: {} bytes more would pass the limit of {} ({} in use)", bytes, limit, live);
  }
  fail(ErrorCode::kOutOfMemory, "out of memory: the system refused {} bytes ({} in use)", bytes,
       live);
}

}  // namespace

void* allocate_bytes(size_t bytes) {
  if (bytes == 0) return nullptr;
  Counters& c = counters();
  c.calls.fetch_add(1, std::memory_order_relaxed);
  const int64_t limit = c.limit.load(std::memory_order_relaxed);
  if (bytes > (size_t{1} << 46)) fail_memory(bytes, c.live.load(), limit);
  const SizeClass size = size_class(bytes);
  const int64_t live = c.live.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed) +
                       static_cast<int64_t>(bytes);
  void* block = nullptr;
  if (limit == 0 || live <= limit) {
    ThreadCache* cache = thread_cache();
    if (cache != nullptr) block = cache->take(size);
    if (block == nullptr) {
      c.system_calls.fetch_add(1, std::memory_order_relaxed);
      const bool is_made_again = cache != nullptr && cache->is_made_again(size);
      const bool is_huge = size.bytes > kDearBytes && is_made_again;
      block = is_huge || cache == nullptr
                  ? allocate_block(size.bytes, is_huge ? PageKind::kHuge : PageKind::kSmall)
                  : cache->make(size);
    }
  }
  if (block == nullptr) {
    c.live.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    fail_memory(bytes, live - static_cast<int64_t>(bytes), limit);
  }
  mark_unusable(block, size.bytes);
  mark_usable(block, bytes);
  int64_t peak = c.peak.load(std::memory_order_relaxed);
  while (live > peak && !c.peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  return block;
}

void free_bytes(void* pointer, size_t bytes) {
  if (pointer == nullptr) return;
  counters().live.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  ThreadCache* cache = thread_cache();
  if (cache == nullptr || !cache->put(pointer, size_class(bytes))) free_block(pointer);
}

AllocatorStats allocator_stats() {
  const Counters& c = counters();
  return {c.live.load(), c.peak.load(), c.calls.load(), c.system_calls.load(), c.cached.load()};
}

void reset_peak() { counters().peak.store(counters().live.load()); }

void release_thread_cache() {
  if (ThreadCache* cache = thread_cache()) cache->clear();
}

void set_memory_limit(int64_t max_live_bytes) {
  counters().limit.store(max_live_bytes);
  object_use().limit.store(max_live_bytes);
}

}  // namespace tierup
