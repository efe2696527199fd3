// What counted objects, vectors of values and texts take from the heap, and how much they may.
//
// The bytes of tensors are refused when they are asked for (tensor/allocator.h). An object may be
// wanted anywhere, where nothing is prepared for a refusal; so objects are only counted, and runs
// ask between their steps, and inside those that make many, whether it is too much. Steps that make
// one large thing of small ones, a text above all, ask before.
#pragma once

#include <atomic>
#include <cstddef>
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

namespace detail {
[[noreturn]] void fail_object_limit(int64_t bytes, int64_t limit);
}  // namespace detail

// Throws kOutOfMemory if objects take more than the limit, or would with `more` bytes.
inline void check_object_limit(size_t more = 0) {
  const int64_t limit = object_use().limit.load(std::memory_order_relaxed);
  if (limit <= 0) return;
  const int64_t bytes = object_use().bytes.load(std::memory_order_relaxed);
  if (bytes > limit || more > static_cast<uint64_t>(limit - bytes)) {
    detail::fail_object_limit(bytes + static_cast<int64_t>(more), limit);
  }
}

// Counts bytes that were not taken by allocate_object, while it stands.
class ObjectBytes {
 public:
  explicit ObjectBytes(size_t bytes) : bytes_(static_cast<int64_t>(bytes)) {
    if (bytes_ > 0) object_use().bytes.fetch_add(bytes_, std::memory_order_relaxed);
  }
  ~ObjectBytes() {
    if (bytes_ > 0) object_use().bytes.fetch_sub(bytes_, std::memory_order_relaxed);
  }
  ObjectBytes(const ObjectBytes&) = delete;
  ObjectBytes& operator=(const ObjectBytes&) = delete;

 private:
  const int64_t bytes_;
};

}  // namespace tierup
