// The one oneDNN engine of the process and what each thread keeps for it.
//
// oneDNN bakes the number of threads into a primitive and lets a primitive share scratch memory,
// so primitives and streams stay in the thread that made them. Headers of this room
// only name oneDNN's types; dnnl.hpp is for the .cc files that run its primitives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tierup/base/parallel.h"
#include "tierup/base/small_vector.h"

namespace dnnl {
struct engine;
struct stream;
}  // namespace dnnl

namespace tierup::kernels {

// The CPU engine, made on first use. Thread-safe.
const dnnl::engine& onednn_engine();
// The calling thread's stream.
dnnl::stream& onednn_stream();

// Whether a primitive is oneDNN's reference code, which takes microseconds where vectors take
// nanoseconds.
template <typename Description>
bool is_reference(const Description& description) {
  return std::string_view(description.impl_info_str()).find("ref") != std::string_view::npos;
}
// Whether it goes through oneDNN's general product, which generates all its kernels in its first
// call, 20 ms.
template <typename Description>
bool is_general_product(const Description& description) {
  return std::string_view(description.impl_info_str()).find("gemm") != std::string_view::npos;
}

// Threads that work is worth which multiplies so often and touches so many numbers: the calling one
// alone for a few microseconds, where bringing others in takes longer. `most_for_one` is the most
// multiplications, numbers counted as some each, for it alone.
int threads_worth(int64_t multiplications, int64_t numbers,
                  int64_t most_for_one = int64_t{1} << 18);

// Stands around a oneDNN primitive that is made and run at once: sets as many threads as it is
// worth, and makes the team ready. In a run to which others leave one core, what by the pace of
// such primitives before it takes less than a time slice is done alone.
class PrimitiveThreads {
 public:
  PrimitiveThreads(int64_t multiplications, int64_t numbers,
                   int64_t most_for_one = int64_t{1} << 18);
  ~PrimitiveThreads();
  PrimitiveThreads(const PrimitiveThreads&) = delete;
  PrimitiveThreads& operator=(const PrimitiveThreads&) = delete;

 private:
  const double multiplications_;
  const bool is_alone_;
  const std::chrono::steady_clock::time_point begin_;
  const ThreadCountScope threads_;
};

// What a primitive depends on: sizes, strides, attributes, number of threads.
using PrimitiveKey = SmallVector<int64_t, 40>;

// The primitives that one thread used last, found by key. Making one takes some tenths of a
// millisecond, in which code is generated and other cores are interrupted to see it: a hundred
// sizes of a batch, or lengths of a sentence, have places here for all layers of a small model. One
// takes some 40 KB; so that many callers do not take gigabytes, a thread has kLeast places for
// itself, and more while all threads together have no more than kMostOfAll.
template <typename Value>
class PrimitiveCache {
 public:
  PrimitiveCache() = default;
  ~PrimitiveCache() { total() -= static_cast<int64_t>(entries_.size()); }
  PrimitiveCache(const PrimitiveCache&) = delete;
  PrimitiveCache& operator=(const PrimitiveCache&) = delete;

  // Returns the entry of `key`, made by `make()` if absent; where there is no place for it, the one
  // that was unused for the longest time goes.
  template <typename Make>
  Value& get(const PrimitiveKey& key, Make&& make) {
    const uint64_t hash = hash_of(key);
    const auto [first, last] = places_.equal_range(hash);
    for (auto place = first; place != last; ++place) {
      const auto entry = place->second;
      if (entry->key != key) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->value;
    }
    entries_.push_front({hash, key, make()});
    places_.emplace(hash, entries_.begin());
    if (++total() > kMostOfAll || entries_.size() > kMost) drop_above(kLeast);
    return entries_.front().value;
  }

 private:
  static constexpr size_t kLeast = 128;
  static constexpr size_t kMost = 1024;
  static constexpr int64_t kMostOfAll = 2 * kMost;
  struct Entry {
    uint64_t hash;
    PrimitiveKey key;
    Value value;
  };
  using Entries = std::list<Entry>;  // The one used last in front.

  static uint64_t hash_of(const PrimitiveKey& key) {
    uint64_t hash = 0x9e3779b97f4a7c15U;
    for (const int64_t word : key)
      hash = (hash ^ static_cast<uint64_t>(word)) * 0x100000001b3U + (hash >> 29);
    return hash;
  }
  // Of all threads.
  static std::atomic<int64_t>& total() {
    static std::atomic<int64_t> count{0};
    return count;
  }
  // One, if there are more than `least`.
  void drop_above(size_t least) {
    if (entries_.size() <= least) return;
    const auto oldest = std::prev(entries_.end());
    auto place = places_.find(oldest->hash);
    while (place->second != oldest) ++place;
    places_.erase(place);
    entries_.erase(oldest);
    --total();
  }

  Entries entries_;
  std::unordered_multimap<uint64_t, typename Entries::iterator> places_;
};

}  // namespace tierup::kernels
