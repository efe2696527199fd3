// The one oneDNN engine of the process and what each thread keeps for it.
//
// oneDNN bakes the number of threads into a primitive and lets a primitive share scratch memory,
// so primitives and streams stay in the thread that made them. Headers of this room
// only name oneDNN's types; dnnl.hpp is for the .cc files that run its primitives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

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

// Threads that work is worth which multiplies so often and touches so many numbers: the calling one
// alone for a few microseconds, where bringing others in takes longer. `most_for_one` is the most
// multiplications, numbers counted as some each, for it alone.
int threads_worth(int64_t multiplications, int64_t numbers,
                  int64_t most_for_one = int64_t{1} << 18);

// What a primitive depends on: sizes, strides, attributes, number of threads.
using PrimitiveKey = SmallVector<int64_t, 40>;

// The primitives that one thread used last, found by key: making a primitive descriptor costs
// microseconds each time, even though oneDNN keeps the code it generated.
template <typename Value>
class PrimitiveCache {
 public:
  // Returns the entry of `key`, made by `make()` if absent; the oldest of kCapacity goes.
  template <typename Make>
  Value& get(const PrimitiveKey& key, Make&& make) {
    const uint64_t hash = hash_of(key);
    ++clock_;
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      if (entry.hash == hash && entry.key == key) {
        entry.used = clock_;
        return *entry.value;
      }
      if (oldest == nullptr || entry.used < oldest->used) oldest = &entry;
    }
    auto value = std::make_unique<Value>(make());
    if (entries_.size() < kCapacity) {
      entries_.push_back({});
      oldest = &entries_.back();
    }
    *oldest = Entry{hash, clock_, key, std::move(value)};
    return *oldest->value;
  }

 private:
  static constexpr size_t kCapacity = 128;
  struct Entry {
    uint64_t hash = 0;
    uint64_t used = 0;
    PrimitiveKey key;
    std::unique_ptr<Value> value;
  };
  static uint64_t hash_of(const PrimitiveKey& key) {
    uint64_t hash = 0x9e3779b97f4a7c15U;
    for (const int64_t word : key)
      hash = (hash ^ static_cast<uint64_t>(word)) * 0x100000001b3U + (hash >> 29);
    return hash;
  }

  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
};

}  // namespace tierup::kernels
