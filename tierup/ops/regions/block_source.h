// BlockSource: an operand as blocks of elements that lie one after another.
//
// Machine code is fast over long runs of dense elements. Where an operand is broadcast or looked up
// so that runs would be short, pieces of it are brought together in a near cache first, in the
// order of the shape that the kernel goes over.
#pragma once

#include "tierup/ops/regions/look_ups.h"

namespace tierup::ops {

class BlockSource {
 public:
  // `tensor` is broadcast to `shape`. If it is looked up, it is `how->table`, or a view of it, and
  // `index` the same view of `how->index`; else both are null. Refers to them.
  BlockSource(const Tensor& tensor, IntSpan shape, const LookUp* how, const Tensor* index);

  // `count` elements of the shape in its order, from the `first` one on. False if an index is out
  // of range.
  bool fill(char* to, int64_t first, int64_t count) const;

 private:
  struct Dimension {
    int64_t size = 1;
    int64_t step = 0;        // In bytes.
    int64_t index_step = 0;  // In bytes.
  };

  bool fill_piece(char* to, const char* from, const char* at, int64_t count) const;
  bool fill_rows_of(char* to, const char* from, const char* at, int64_t rows) const;
  template <typename Index>
  bool fill_rows(char* to, const char* from, const char* at, int64_t rows) const;

  SmallVector<Dimension, 4> dimensions_;  // The innermost first; merged where that can be done.
  const char* data_;
  const char* index_ = nullptr;
  const LookUp* how_;
  int64_t width_;
  bool is_short_ = false;  // The innermost dimension, which is not looked up.
  // Rows may be taken together: they are short, or lie as in a block, in one entry.
  bool has_whole_rows_ = false;
};

}  // namespace tierup::ops
