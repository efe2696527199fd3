#include "tierup/kernels/memory_reuse.h"

#include <algorithm>

#include "tierup/tensor/block_owner.h"

namespace tierup::kernels {
namespace {

bool are_same(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace

Tensor reuse_memory(const Tensor& dying, ScalarType dtype, IntSpan sizes, IntSpan strides) {
  if (AllocationScope::current() != nullptr) return {};
  const Ref<Storage>& storage = dying.storage();
  if (storage->use_count() != 1 || !storage->owns_memory() || dying.offset() != 0 ||
      dying.item_size() != item_size(dtype) || storage->bytes() != dying.bytes() ||
      !are_same(dying.sizes(), sizes) || !are_same(dying.strides(), strides)) {
    return {};
  }
  return Tensor::from_storage(storage, dtype, sizes, strides, 0);
}

}  // namespace tierup::kernels
