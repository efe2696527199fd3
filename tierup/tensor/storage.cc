#include "tierup/tensor/storage.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "tierup/base/error.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tensor/block_release.h"

namespace tierup {
namespace {

// Where storages of no bytes lie: addresses of views are computed from it, which null is not for.
alignas(64) const std::byte kNothing[64] = {};

void* memory_of(size_t bytes) {
  return bytes > 0 ? allocate_bytes(bytes) : const_cast<std::byte*>(kNothing);
}

}  // namespace

Ref<Storage> Storage::allocate(size_t bytes) {
  if (AllocationScope* scope = AllocationScope::current(); scope != nullptr && bytes > 0) {
    if (Ref<Storage> placed = scope->allocate(bytes)) return placed;
  }
  Ref<Storage> storage(new Storage());
  storage->data_ = memory_of(bytes);
  storage->bytes_ = bytes;
  storage->owned_ = true;
  return storage;
}

Ref<Storage> Storage::borrow(void* data, size_t bytes, std::function<void()> release,
                             Device device) {
  Ref<Storage> storage(new Storage());
  const bool is_empty = data == nullptr && bytes == 0 && device.type == DeviceType::kCpu;
  storage->data_ = is_empty ? memory_of(0) : data;
  storage->bytes_ = bytes;
  storage->device_ = device;
  storage->release_ = std::move(release);
  return storage;
}

Storage::~Storage() {
  if (owned_ && bytes_ > 0) free_bytes(data_, bytes_);
  if (release_) release_();
}

void Storage::resize(size_t bytes) {
  const bool in_block = release_.target<BlockRelease>() != nullptr;
  require(owned_ || in_block, ErrorCode::kInvalidArgument,
          "cannot resize a storage that tierup does not own");
  void* fresh = memory_of(bytes);
  if (bytes_ > 0 && bytes > 0) std::memcpy(fresh, data_, std::min(bytes, bytes_));
  if (in_block) {
    release_();
    release_ = nullptr;
    owned_ = true;
  } else if (bytes_ > 0) {
    free_bytes(data_, bytes_);
  }
  data_ = fresh;
  bytes_ = bytes;
}

}  // namespace tierup
