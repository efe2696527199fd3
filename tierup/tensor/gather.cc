#include "tierup/tensor/gather.h"

#include <cstring>

namespace tierup {

void gather_elements(const Tensor& tensor, void* out) {
  if (tensor.numel() == 0) return;
  const auto* base = static_cast<const char*>(tensor.raw());
  if (tensor.is_contiguous()) {
    std::memcpy(out, base, tensor.bytes());
    return;
  }
  const size_t width = tensor.item_size();
  const IntSpan sizes = tensor.sizes();
  const IntSpan strides = tensor.strides();
  IntVector index(sizes.size(), 0);
  int64_t position = 0;
  auto* target = static_cast<char*>(out);
  for (int64_t i = 0; i < tensor.numel(); ++i, target += width) {
    std::memcpy(target, base + position * static_cast<int64_t>(width), width);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) {
        position += strides[d];
        break;
      }
      position -= strides[d] * (sizes[d] - 1);
      index[d] = 0;
    }
  }
}

}  // namespace tierup
