#include "tierup/kernels/reduce/reduce_plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tierup::kernels {
namespace {

// Merges neighbours that together are one strided run; drops sizes of 1.
void merge(IntVector& sizes, IntVector& strides) {
  size_t kept = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (kept > 0 && strides[kept - 1] == strides[d] * sizes[d]) {
      sizes[kept - 1] *= sizes[d];
      strides[kept - 1] = strides[d];
      continue;
    }
    sizes[kept] = sizes[d];
    strides[kept++] = strides[d];
  }
  sizes.resize(kept);
  strides.resize(kept);
}

int64_t offset_of(int64_t index, const IntVector& sizes, const IntVector& strides, size_t dims) {
  int64_t offset = 0;
  for (size_t d = dims; d-- > 0;) {
    offset += index % sizes[d] * strides[d];
    index /= sizes[d];
  }
  return offset;
}

}  // namespace

uint64_t reduce_mask(const ReduceDims& dims, int64_t rank) {
  require(rank <= 64, ErrorCode::kUnsupported,
          "only tensors with up to 64 dims are supported, got {}", rank);
  if (!dims || dims->empty()) return ~uint64_t{0};
  uint64_t mask = 0;
  for (const int64_t dim : *dims) {
    const uint64_t bit = uint64_t{1} << wrap_dim(dim, rank);
    require((mask & bit) == 0, ErrorCode::kInvalidArgument,
            "dim {} appears multiple times in the list of dims", dim);
    mask |= bit;
  }
  return mask;
}

ReducePlan::ReducePlan(const Tensor& self, const ReduceDims& dims, bool keepdim) {
  const uint64_t mask = reduce_mask(dims, self.dim());
  SmallVector<std::pair<int64_t, int64_t>, 6> reduced;  // Stride, size.
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t size = self.sizes()[d];
    const int64_t stride = self.strides()[d];
    if (((mask >> d) & 1U) != 0) {
      reduced.emplace_back(stride, size);
      count *= size;
      if (keepdim) out_sizes.push_back(1);
      continue;
    }
    out_sizes.push_back(size);
    kept_sizes.push_back(size);
    kept_strides.push_back(stride);
    outputs *= size;
  }
  std::stable_sort(reduced.begin(), reduced.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first) > std::abs(b.first);
  });
  for (const auto& [stride, size] : reduced) {
    reduced_sizes.push_back(size);
    reduced_strides.push_back(stride);
  }
  merge(kept_sizes, kept_strides);
  merge(reduced_sizes, reduced_strides);
  if (reduced_sizes.empty()) {
    reduced_sizes.push_back(1);
    reduced_strides.push_back(1);
  }
}

int64_t ReducePlan::output_offset(int64_t output) const {
  return offset_of(output, kept_sizes, kept_strides, kept_sizes.size());
}

int64_t ReducePlan::row_offset(int64_t row) const {
  return offset_of(row, reduced_sizes, reduced_strides, reduced_sizes.size() - 1);
}

}  // namespace tierup::kernels
