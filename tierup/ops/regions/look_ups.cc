// See look_ups.h.
#include "tierup/ops/regions/look_ups.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tierup::ops {
namespace {

constexpr int64_t kBlock = 256;  // Entries whose places are worked out at a time.

// The table and the index stretched over the result, which has the index's dimensions in place of
// the one that is looked up.
void put_in_place(LookUp& look_up, const Tensor& table, const Tensor& index, size_t dim) {
  IntVector sizes;
  IntVector strides;
  IntVector to_index;
  for (size_t d = 0; d < table.sizes().size(); ++d) {
    if (d != dim) {
      sizes.push_back(table.sizes()[d]);
      strides.push_back(table.strides()[d]);
      to_index.push_back(0);
      continue;
    }
    for (size_t i = 0; i < index.sizes().size(); ++i) {
      sizes.push_back(index.sizes()[i]);
      strides.push_back(0);
      to_index.push_back(index.strides()[i]);
    }
  }
  look_up.table =
      Tensor::from_storage(table.storage(), table.dtype(), sizes, strides, table.offset());
  look_up.index =
      Tensor::from_storage(index.storage(), index.dtype(), sizes, to_index, index.offset());
}

bool go_along(LookUp& look_up, const Tensor& table, const Tensor& index, size_t dim) {
  if (index.dim() != table.dim()) return false;
  for (size_t d = 0; d < index.sizes().size(); ++d) {
    if (d != dim && index.sizes()[d] > table.sizes()[d]) return false;
  }
  IntVector strides(table.strides().begin(), table.strides().end());
  strides[dim] = 0;
  look_up.table =
      Tensor::from_storage(table.storage(), table.dtype(), index.sizes(), strides, table.offset());
  look_up.index = index;
  return true;
}

// Which entries the indices name; false if one is out of range.
template <typename Index>
bool read_entries(const LookUp& how, const char* at, int64_t stride, int64_t count, int64_t* to) {
  constexpr int64_t kDense = sizeof(Index);
  uint64_t outside = 0;
  const auto read = [&](int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = how.entry_at<Index>(at + i * step);
      outside |= static_cast<uint64_t>(to[i]) >= static_cast<uint64_t>(how.entries) ? 1 : 0;
    }
  };
  stride == kDense ? read(kDense) : read(stride);
  return outside == 0;
}

template <typename Word>
void copy_words(char* to, const char* from, int64_t stride, const int64_t* entries, int64_t step,
                int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * static_cast<int64_t>(sizeof(Word)), from + i * stride + entries[i] * step,
                sizeof(Word));
  }
}

}  // namespace

bool indexes(ScalarType dtype) { return dtype == ScalarType::kLong || dtype == ScalarType::kInt; }

bool LookUp::copy(char* to, const char* from, int64_t stride, const char* at, int64_t index_stride,
                  int64_t count) const {
  std::array<int64_t, kBlock> named;
  const auto width = static_cast<int64_t>(table.item_size());
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t n = std::min(kBlock, count - start);
    const char* const first = at + start * index_stride;
    const bool is_good = index.dtype() == ScalarType::kLong
                             ? read_entries<int64_t>(*this, first, index_stride, n, named.data())
                             : read_entries<int32_t>(*this, first, index_stride, n, named.data());
    if (!is_good) return false;
    char* const target = to + start * width;
    const char* const source = from + start * stride;
    switch (width) {
      case 1: copy_words<uint8_t>(target, source, stride, named.data(), step, n); break;
      case 2: copy_words<uint16_t>(target, source, stride, named.data(), step, n); break;
      case 4: copy_words<uint32_t>(target, source, stride, named.data(), step, n); break;
      default: copy_words<uint64_t>(target, source, stride, named.data(), step, n);
    }
  }
  return true;
}

std::optional<LookUp> look_up_of(LookUpKind kind, const Tensor& table, const Tensor& index,
                                 int64_t dim) {
  if (dim < 0) dim += table.dim();
  const bool fits = dim >= 0 && dim < table.dim() && index.dim() > 0 && indexes(index.dtype()) &&
                    table.numel() > 0 && index.numel() > 0 &&
                    (kind != LookUpKind::kEmbedding || table.dim() == 2) &&
                    (kind != LookUpKind::kIndexSelect || index.dim() == 1);
  if (!fits) return std::nullopt;
  LookUp look_up;
  const auto at = static_cast<size_t>(dim);
  if (kind != LookUpKind::kGather) {
    put_in_place(look_up, table, index, at);
  } else if (!go_along(look_up, table, index, at)) {
    return std::nullopt;
  }
  look_up.entries = table.sizes()[at];
  look_up.step = table.strides()[at] * static_cast<int64_t>(table.item_size());
  look_up.wraps = kind == LookUpKind::kIndex;
  return look_up;
}

}  // namespace tierup::ops
