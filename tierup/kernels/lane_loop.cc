#include "tierup/kernels/lane_loop.h"

namespace tierup::kernels {

LaneLoop::LaneLoop(IntSpan shape, int64_t dim, std::initializer_list<const Tensor*> operands) {
  TIERUP_CHECK(operands.size() <= kMaxOperands);
  const auto rank = static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < rank; ++d) {
    if (d == dim) continue;
    lanes_ *= shape[d];
    sizes_.push_back(shape[d]);
  }
  strides_.resize(sizes_.size());
  for (const Tensor* tensor : operands) {
    TIERUP_CHECK(tensor->dim() == rank);
    const auto width = static_cast<int64_t>(tensor->item_size());
    base_[operands_] = static_cast<char*>(tensor->raw());
    step_[operands_] = rank == 0 ? width : tensor->strides()[dim] * width;
    size_t slot = 0;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != dim) strides_[slot++][operands_] = tensor->strides()[d] * width;
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

void LaneLoop::Cursor::advance(const LaneLoop& loop) {
  for (size_t d = loop.sizes_.size(); d-- > 0;) {
    const bool wraps = ++index[d] == loop.sizes_[d];
    const int64_t steps = wraps ? 1 - loop.sizes_[d] : 1;
    for (size_t i = 0; i < loop.operands_; ++i) pointers[i] += steps * loop.strides_[d][i];
    if (!wraps) return;
    index[d] = 0;
  }
}

}  // namespace tierup::kernels
