// See block_source.h.
#include "tierup/ops/regions/block_source.h"

#include <algorithm>
#include <cstring>

#include "tierup/kernels/memory/short_rows.h"
#include "tierup/ops/regions/strided_copy.h"

namespace tierup::ops {
namespace {

// Short rows; a call for each would take longer than the copy.
void copy_row(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kChunk = 32;
  if (bytes % kChunk != 0 || bytes > 16 * kChunk) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t i = 0; i < bytes; i += kChunk) std::memcpy(to + i, from + i, kChunk);
}

// The strides in bytes over the whole shape, of which the tensor may lack dimensions in front.
int64_t stride_of(const Tensor& tensor, size_t dim, size_t rank) {
  const size_t missing = rank - tensor.sizes().size();
  if (dim < missing || tensor.sizes()[dim - missing] == 1) return 0;
  return tensor.strides()[dim - missing] * static_cast<int64_t>(tensor.item_size());
}

}  // namespace

BlockSource::BlockSource(const Tensor& tensor, IntSpan shape, const LookUp* how,
                         const Tensor* index)
    : data_(static_cast<const char*>(tensor.raw())),
      how_(how),
      width_(static_cast<int64_t>(tensor.item_size())) {
  if (how != nullptr) index_ = static_cast<const char*>(index->raw());
  dimensions_.resize(std::max<size_t>(shape.size(), 1));
  size_t count = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    const Dimension next{shape[d], stride_of(tensor, d, shape.size()),
                         how == nullptr ? 0 : stride_of(*index, d, shape.size())};
    Dimension& last = dimensions_[count == 0 ? 0 : count - 1];
    if (count > 0 && next.step == last.step * last.size &&
        next.index_step == last.index_step * last.size) {
      last.size *= next.size;
    } else {
      dimensions_[count++] = next;
    }
  }
  dimensions_.resize(std::max<size_t>(count, 1));
  const Dimension& inner = dimensions_[0];
  const bool has_rows = dimensions_.size() > 1;
  is_short_ = has_rows && how == nullptr && inner.size < kernels::kShortRow;
  has_whole_rows_ = is_short_ || (has_rows && inner.step == width_ && inner.index_step == 0);
}

bool BlockSource::fill(char* to, int64_t first, int64_t count) const {
  SmallVector<int64_t, 4> place;
  const char* from = data_;
  const char* at = index_;
  for (const Dimension& dimension : dimensions_) {
    place.push_back(first % dimension.size);
    first /= dimension.size;
    from += place.back() * dimension.step;
    at += place.back() * dimension.index_step;
  }
  const Dimension& inner = dimensions_[0];
  while (count > 0) {
    const bool whole_rows = has_whole_rows_ && place[0] == 0 && count >= inner.size;
    size_t moved = 0;  // The dimension in which the place moves on.
    int64_t by = std::min(count, inner.size - place[0]);
    int64_t elements = by;
    if (whole_rows) {
      moved = 1;
      by = std::min(count / inner.size, dimensions_[1].size - place[1]);
      elements = by * inner.size;
      if (is_short_) {
        kernels::copy_short_rows(to, from, width_, inner.size, inner.step, by, dimensions_[1].step);
      } else if (!fill_rows_of(to, from, at, by)) {
        return false;
      }
    } else if (!fill_piece(to, from, at, by)) {
      return false;
    }
    to += elements * width_;
    count -= elements;
    for (size_t d = moved; d < dimensions_.size(); ++d, by = 1) {
      from += by * dimensions_[d].step;
      at += by * dimensions_[d].index_step;
      place[d] += by;
      if (place[d] < dimensions_[d].size) break;
      from -= dimensions_[d].size * dimensions_[d].step;
      at -= dimensions_[d].size * dimensions_[d].index_step;
      place[d] = 0;
    }
  }
  return true;
}

bool BlockSource::fill_rows_of(char* to, const char* from, const char* at, int64_t rows) const {
  const bool is_long = how_ == nullptr || how_->index.dtype() == ScalarType::kLong;
  return is_long ? fill_rows<int64_t>(to, from, at, rows) : fill_rows<int32_t>(to, from, at, rows);
}

template <typename Index>
bool BlockSource::fill_rows(char* to, const char* from, const char* at, int64_t rows) const {
  const Dimension& next = dimensions_[1];
  const int64_t bytes = dimensions_[0].size * width_;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    if (how_ != nullptr) {
      offset = how_->offset_at<Index>(at + row * next.index_step);
      if (offset < 0) return false;
    }
    copy_row(to + row * bytes, from + row * next.step + offset, bytes);
  }
  return true;
}

bool BlockSource::fill_piece(char* to, const char* from, const char* at, int64_t count) const {
  const Dimension& inner = dimensions_[0];
  if (how_ != nullptr && inner.index_step != 0) {
    return how_->copy(to, from, inner.step, at, inner.index_step, count);
  }
  if (how_ != nullptr) {
    const int64_t offset = how_->offset_at(at);
    if (offset < 0) return false;
    from += offset;
  }
  if (inner.step == width_) {
    std::memcpy(to, from, static_cast<size_t>(count * width_));
  } else {
    copy_strided(to, width_, from, inner.step, width_, count);
  }
  return true;
}

}  // namespace tierup::ops
