#include "tierup/kernels/memory/memory_reuse.h"

#include <algorithm>

#include "tierup/tensor/block_owner.h"

namespace tierup::kernels {
Tensor reuse_memory(const Tensor& dying, ScalarType dtype, IntSpan sizes, IntSpan strides) {
  if (AllocationScope::current() != nullptr) return {};
  const Ref<Storage>& storage = dying.storage();
  if (storage->use_count() != 1 || !storage->owns_memory() || dying.offset() != 0 ||
      dying.item_size() != item_size(dtype) || storage->bytes() != dying.bytes() ||
      !std::ranges::equal(dying.sizes(), sizes) || !std::ranges::equal(dying.strides(), strides)) {
    return {};
  }
  return Tensor::from_storage(storage, dtype, sizes, strides, 0);
}

}  // namespace tierup::kernels
