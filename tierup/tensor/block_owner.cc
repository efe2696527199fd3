#include "tierup/tensor/block_owner.h"

#include "tierup/tensor/block_release.h"

namespace tierup {
namespace {

AllocationScope*& current_scope() {
  thread_local AllocationScope* scope = nullptr;
  return scope;
}

}  // namespace

Ref<Storage> storage_of_block(Ref<BlockOwner> owner, uint32_t block, void* data, size_t bytes) {
  return Storage::borrow(data, bytes, BlockRelease{std::move(owner).leak(), block});
}

AllocationScope::AllocationScope() : outer_(current_scope()) { current_scope() = this; }
AllocationScope::~AllocationScope() { current_scope() = outer_; }
AllocationScope* AllocationScope::current() { return current_scope(); }

}  // namespace tierup
