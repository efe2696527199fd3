// What counted objects and vectors of values take from the heap, and how much they may.
//
// The bytes of tensors are refused when they are asked for (tensor/allocator.h). An object may be
// wanted anywhere, where nothing is prepared for a refusal; so objects are only counted, and runs
// ask between their steps, and inside those that make many, whether it is too much.
#pragma once

#include <atomic>
#include <cstdint>

namespace tierup {

struct ObjectUse {
  std::atomic<int64_t> bytes{0};  // Blocks from the heap, those that threads keep for reuse too.
  std::atomic<int64_t> limit{0};  // 0: none.
};

inline ObjectUse& object_use() {
  alignas(64) static constinit ObjectUse use;
  return use;
}

inline bool objects_are_limited() { return object_use().limit.load(std::memory_order_relaxed) > 0; }
inline bool objects_exceed_limit() {
  const int64_t limit = object_use().limit.load(std::memory_order_relaxed);
  return limit > 0 && object_use().bytes.load(std::memory_order_relaxed) > limit;
}

}  // namespace tierup
