// Look-ups: calls that read entries of a table at places that a tensor names, as loads of fusion
// groups.
//
// Table and index come from outside of the group, so that a look-up is no more than an address: an
// element of the result lies in an entry of the table at a place that follows from its position
// alone. So views of the result are views of both. Which entry is only known in the run, and is
// checked where it is read; an index out of range makes the run void, and the twin raises tier 0's
// error.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "tierup/ops/table/facts.h"
#include "tierup/tensor/tensor.h"

namespace tierup::ops {

// Whether an index of this dtype is one that look-ups read.
bool indexes(ScalarType dtype);

// One look-up of a run: what stands for its operands.
struct LookUp {
  Tensor table;  // Of the result's shape, each element in entry 0; what it holds is not read.
  Tensor index;  // Of the result's shape.
  int64_t entries = 0;
  int64_t step = 0;  // From entry to entry, in bytes.
  bool wraps = false;

  // To the entry that the index at this address names, in bytes; -1 if it is out of range.
  int64_t offset_at(const char* at) const {
    return index.dtype() == ScalarType::kLong ? offset_at<int64_t>(at) : offset_at<int32_t>(at);
  }
  // For an index of this type.
  template <typename Index>
  int64_t offset_at(const char* at) const {
    const int64_t entry = entry_at<Index>(at);
    return entry >= 0 && entry < entries ? entry * step : -1;
  }
  // Unchecked.
  template <typename Index>
  int64_t entry_at(const char* at) const {
    Index read;
    std::memcpy(&read, at, sizeof(read));
    const auto entry = static_cast<int64_t>(read);
    return wraps && entry < 0 ? entry + entries : entry;
  }
  // `count` elements to `to`, one after another; false if an index is out of range. Strides are
  // those of table and index, in bytes.
  bool copy(char* to, const char* from, int64_t stride, const char* at, int64_t index_stride,
            int64_t count) const;
};

// Of the entries of dimension `dim`; none if the operator would refuse, or has nothing to do.
std::optional<LookUp> look_up_of(LookUpKind kind, const Tensor& table, const Tensor& index,
                                 int64_t dim);

}  // namespace tierup::ops
