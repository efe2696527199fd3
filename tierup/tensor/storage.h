// Storage: one block of bytes that tensors view, whoever owns it.
//
// The owner may be tierup's allocator, a mapped archive, or a DLPack producer. Views of one
// storage see each other's writes; the version counter tells them apart in time, so that
// a plan or the tape can notice that a value it relied on was overwritten.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tierup/base/ref.h"
#include "tierup/tensor/device.h"

namespace tierup {

class Storage : public RefCounted {
 public:
  // Uninitialised memory from the allocator, 64-byte aligned. Throws kOutOfMemory.
  static Ref<Storage> allocate(size_t bytes);
  // Memory of somebody else; `release` is called once, when the last tensor lets go.
  // `data` may be null for zero bytes and for the meta device.
  static Ref<Storage> borrow(void* data, size_t bytes, std::function<void()> release,
                             Device device = {});
  ~Storage() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  // Grows or replaces the block, keeping the first bytes; for resize_ of tensors that own their
  // memory.
  void resize(size_t bytes);
  bool owns_memory() const { return owned_; }

  // Counts in-place writes to any view. Relaxed: ordering comes from whoever shares the tensor.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  // The same without writes through tensors that hide from the tape (`.data`): what a saved value
  // of a backward pass compares.
  uint32_t tape_version() const { return tape_version_.load(std::memory_order_relaxed); }
  void bump_version(bool seen_by_tape = true) {
    version_.fetch_add(1, std::memory_order_relaxed);
    if (seen_by_tape) tape_version_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  Storage() = default;

  void* data_ = nullptr;
  size_t bytes_ = 0;
  Device device_;
  bool owned_ = false;
  std::atomic<uint32_t> version_{0};
  std::atomic<uint32_t> tape_version_{0};
  std::function<void()> release_;
};

}  // namespace tierup
