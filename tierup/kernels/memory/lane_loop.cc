#include "tierup/kernels/memory/lane_loop.h"

namespace tierup::kernels {

namespace {

// Bytes from an element of a lane to the next; where there is none, the stride may be any number.
int64_t step_of(const Tensor& tensor, int64_t dim) {
  const auto width = static_cast<int64_t>(tensor.item_size());
  return tensor.dim() == 0 || tensor.sizes()[dim] <= 1 ? width : tensor.strides()[dim] * width;
}

}  // namespace

LaneLoop::LaneLoop(IntSpan shape, int64_t dim, std::initializer_list<const Tensor*> operands) {
  TIERUP_CHECK(operands.size() <= kMaxOperands);
  if (std::ranges::all_of(operands, [](const Tensor* tensor) { return tensor->numel() == 0; })) {
    return;  // Their strides may have no 64 bits of bytes, and their lanes be too many to visit.
  }
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim) sizes_.push_back(shape[d]);
  }
  lanes_ = numel_of(sizes_);
  strides_.resize(sizes_.size());
  for (const Tensor* tensor : operands) {
    TIERUP_CHECK(tensor->dim() == rank);
    base_[operands_] = static_cast<char*>(tensor->raw());
    step_[operands_] = step_of(*tensor, dim);
    size_t slot = 0;
    for (int64_t d = 0; d < rank; ++d) {
      if (d == dim) continue;
      strides_[slot++][operands_] =
          shape[d] > 1 ? tensor->strides()[d] * static_cast<int64_t>(tensor->item_size()) : 0;
    }
    ++operands_;
  }
}

LaneLoop::Cursor::Cursor(const LaneLoop& loop, int64_t lane)
    : pointers(loop.base_), index(loop.sizes_.size(), 0) {
  for (size_t d = loop.sizes_.size(); d-- > 0;) {
    index[d] = lane % loop.sizes_[d];
    lane /= loop.sizes_[d];
    for (size_t i = 0; i < loop.operands_; ++i) pointers[i] += index[d] * loop.strides_[d][i];
  }
}

void LaneLoop::Cursor::carry(const LaneLoop& loop) {
  for (size_t d = loop.sizes_.size(); d-- > 0;) {
    const bool wraps = ++index[d] == loop.sizes_[d];
    const int64_t steps = wraps ? 1 - loop.sizes_[d] : 1;
    for (size_t i = 0; i < loop.operands_; ++i) pointers[i] += steps * loop.strides_[d][i];
    if (!wraps) return;
    index[d] = 0;
  }
}

}  // namespace tierup::kernels
