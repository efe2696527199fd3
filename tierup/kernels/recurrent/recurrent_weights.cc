#include "tierup/kernels/recurrent/recurrent_weights.h"

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/kernels/gemm/gemm.h"
#include "tierup/tensor/block_memory.h"

namespace tierup::kernels {

namespace {

// Not from the allocator: what a run takes there may be the memory of its plan.
std::shared_ptr<float[]> packed(const Tensor& weight, size_t bytes) {
  auto* block = static_cast<float*>(allocate_block(bytes, PageKind::kHuge));
  require(block != nullptr, ErrorCode::kOutOfMemory, "no memory for {} bytes", bytes);
  std::shared_ptr<float[]> panels(block, [](float* p) { free_block(p); });
  pack_row_panels(weight.data<float>(), 1, weight.size(1), weight.size(1), weight.size(0), block);
  return panels;
}

}  // namespace

std::shared_ptr<const float[]> RecurrentWeights::panels_of(const Tensor& weight) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.weight.raw() == weight.raw() && entry.weight.size(0) == weight.size(0) &&
           entry.weight.size(1) == weight.size(1);
  });
  if (found != entries_.end() && found->version == weight.storage()->version())
    return found->panels;
  Entry entry{weight, weight.storage()->version()};
  entry.bytes = static_cast<size_t>(row_panel_count(weight.size(0)) * weight.size(1) * kRowPanel) *
                sizeof(float);
  entry.panels = packed(weight, entry.bytes);
  if (found != entries_.end()) {
    *found = entry;
  } else if (entries_.size() < kMostEntries) {
    entries_.push_back(entry);
  } else {
    entries_[oldest_++ % kMostEntries] = entry;
  }
  return entry.panels;
}

size_t RecurrentWeights::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.bytes;
  return bytes;
}

}  // namespace tierup::kernels
