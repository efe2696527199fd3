// BlockOwner and AllocationScope: who hands out storage memory in a thread, for a while.
//
// A run of a planned graph takes its intermediate tensors from one arena; a run that is being
// planned has its allocations recorded. Both stand between Storage::allocate and the allocator for
// one thread and one run; kernels know nothing of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tierup/base/ref.h"
#include "tierup/tensor/storage.h"

namespace tierup {

// Owns numbered blocks of memory that storages use. A storage holds a reference to it.
class BlockOwner : public RefCounted {
 public:
  // The storage of a block is gone. From any thread; must not throw.
  virtual void on_release(uint32_t block) noexcept = 0;
};

// A storage over a block of `owner`, which may be resized (it then moves to memory of its own).
Ref<Storage> storage_of_block(Ref<BlockOwner> owner, uint32_t block, void* data, size_t bytes);

// While one lives, Storage::allocate of this thread asks it. Scopes nest; each belongs to a thread.
class AllocationScope {
 public:
  AllocationScope();
  virtual ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  // The innermost scope of this thread; null if there is none.
  static AllocationScope* current();
  // A storage, or null: the allocator serves this one. `bytes` is not 0.
  virtual Ref<Storage> allocate(size_t bytes) = 0;

 protected:
  // The scope that this one stands in; null if there is none.
  AllocationScope* outer() const { return outer_; }

 private:
  AllocationScope* const outer_;
};

// Lets the allocator serve everything: for what is made during a run and stays behind it.
class LastingAllocations final : public AllocationScope {
 public:
  Ref<Storage> allocate(size_t) override { return nullptr; }
};

}  // namespace tierup
