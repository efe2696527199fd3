#include "tierup/kernels/shape/triangle.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "tierup/base/interrupt.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

// Columns [0, end) of a row for tril, [begin, columns) for triu, clamped to the matrix.
int64_t clamp_column(int64_t row, int64_t offset, int64_t columns) {
  int64_t column = 0;
  if (__builtin_add_overflow(row, offset, &column)) return offset < 0 ? 0 : columns;
  return std::clamp<int64_t>(column, 0, columns);
}

Tensor triangle(const Tensor& self, int64_t diagonal, bool lower) {
  require(self.dim() >= 2, ErrorCode::kInvalidArgument,
          "{}: input tensor must have at least 2 dimensions", lower ? "tril" : "triu");
  const Tensor source = contiguous(self);
  Tensor out = Tensor::empty(self.sizes(), self.dtype());
  if (out.numel() == 0) return out;
  const int64_t rows = self.size(-2);
  const int64_t columns = self.size(-1);
  const auto width = static_cast<int64_t>(self.item_size());
  const char* from = static_cast<const char*>(source.raw());
  char* to = static_cast<char*>(out.raw());
  const int64_t end_shift = lower ? std::min<int64_t>(diagonal, INT64_MAX - 1) + 1 : diagonal;
  parallel_for(0, out.numel() / columns, std::max<int64_t>(1, 65536 / columns),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t cut = clamp_column(r % rows, end_shift, columns) * width;
                   const int64_t at = r * columns * width;
                   const int64_t rest = columns * width - cut;
                   if (lower) {
                     std::memcpy(to + at, from + at, static_cast<size_t>(cut));
                     std::memset(to + at + cut, 0, static_cast<size_t>(rest));
                   } else {
                     std::memset(to + at, 0, static_cast<size_t>(cut));
                     std::memcpy(to + at + cut, from + at + cut, static_cast<size_t>(rest));
                   }
                 }
               });
  return out;
}

// The rows of a triangle that have elements: whole ones, and some whose lengths change by one.
// `diagonal` lies in the matrix or beside it.
struct TriangleRows {
  TriangleRows(int64_t rows, int64_t columns, int64_t diagonal, bool lower) {
    if (columns == 0) return;
    if (lower) {
      begin = std::clamp<int64_t>(-diagonal, 0, rows);
      end = rows;
      const int64_t first_whole =
          diagonal < columns - 1 - rows ? rows : std::max(begin, columns - 1 - diagonal);
      whole = end - first_whole;
      shortest = begin + diagonal + 1;
    } else {
      end = diagonal < columns - rows ? rows : columns - diagonal;
      whole = std::clamp<int64_t>(-diagonal, 0, end);
      shortest = whole < end ? columns - (end - 1) - diagonal : 0;
    }
  }
  // Elements of all rows; nothing if they are more than there can be.
  std::optional<int64_t> count(int64_t columns) const {
    if (begin >= end) return 0;
    const __int128 partial = end - begin - whole;
    const __int128 elements = static_cast<__int128>(whole) * columns +
                              partial * (2 * static_cast<__int128>(shortest) + partial - 1) / 2;
    if (elements > INT64_MAX / 2) return std::nullopt;
    return static_cast<int64_t>(elements);
  }

  int64_t begin = 0;
  int64_t end = 0;
  int64_t whole = 0;     // Rows.
  int64_t shortest = 0;  // Of those that are not whole.
};

Tensor triangle_indices(int64_t rows, int64_t columns, int64_t offset, ScalarType dtype,
                        bool lower) {
  require(rows >= 0, ErrorCode::kInvalidArgument, "row must be non-negative, got {}", rows);
  require(columns >= 0, ErrorCode::kInvalidArgument, "col must be non-negative, got {}", columns);
  const int64_t highest = lower ? std::max<int64_t>(columns - 1, 0) : columns;
  const int64_t diagonal = std::clamp(offset, -rows, highest);
  const TriangleRows triangle(rows, columns, diagonal, lower);
  const std::optional<int64_t> count = triangle.count(columns);
  require(count.has_value(), ErrorCode::kInvalidArgument,
          "a triangle of {} x {} has too many elements", rows, columns);
  const Tensor out = Tensor::empty(IntVector{2, *count}, ScalarType::kLong);
  int64_t* row = out.data<int64_t>();
  int64_t* column = row + *count;
  constexpr int64_t kUnasked = 1 << 16;  // Elements between two questions whether to stop.
  int64_t unasked = kUnasked;
  for (int64_t r = triangle.begin; r < triangle.end; ++r) {
    const int64_t last = lower ? clamp_column(r, diagonal + 1, columns) : columns;
    for (int64_t c = lower ? 0 : clamp_column(r, diagonal, columns); c < last;) {
      if (unasked >= kUnasked) {
        poll_interrupt();
        unasked = 0;
      }
      const int64_t stop = std::min(c + kUnasked, last);
      unasked += stop - c;
      for (; c < stop; ++c) {
        *row++ = r;
        *column++ = c;
      }
    }
  }
  return to_dtype(out, dtype);
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, true); }
Tensor triu(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, false); }

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, ScalarType dtype) {
  return triangle_indices(rows, columns, offset, dtype, true);
}
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, ScalarType dtype) {
  return triangle_indices(rows, columns, offset, dtype, false);
}

Tensor diag(const Tensor& self, int64_t offset) {
  require(self.dim() == 1 || self.dim() == 2, ErrorCode::kInvalidArgument,
          "diag(): Supports 1D or 2D tensors. Got {}D", self.dim());
  if (self.dim() == 1) return diag_embed(self, offset, 0, 1);
  return clone(diagonal(self, offset, 0, 1), MemoryFormat::kContiguous);
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim() + 1;
  const int64_t a = wrap_dim(dim1, rank);
  const int64_t b = wrap_dim(dim2, rank);
  require(a != b, ErrorCode::kInvalidArgument, "diagonal dimensions cannot be identical {}, {}",
          dim1, dim2);
  require(self.dim() > 0, ErrorCode::kOutOfRange, "diag_embed: input must have a dimension");
  int64_t length = self.size(-1);
  require(offset > -(int64_t{1} << 40) && offset < (int64_t{1} << 40), ErrorCode::kInvalidArgument,
          "diag_embed: offset {} is too large", offset);
  length += std::abs(offset);
  IntVector sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(a, b), length);
  sizes.insert(sizes.begin() + std::max(a, b), length);
  Tensor out = Tensor::empty(sizes, self.dtype());
  fill(out, Scalar(0));
  copy_into(diagonal(out, offset, a, b), self);
  return out;
}

Tensor diagflat(const Tensor& self, int64_t offset) {
  return diag(reshape(contiguous(self), {-1}), offset);
}

void fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap) {
  require(self.dim() >= 2, ErrorCode::kInvalidArgument, "dimensions must larger than 1");
  for (int64_t d = 1; self.dim() > 2 && d < self.dim(); ++d) {
    require(self.sizes()[d] == self.sizes()[0], ErrorCode::kInvalidArgument,
            "all dimensions of input must be of equal length");
  }
  int64_t length = self.sizes()[0];
  int64_t step = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    length = std::min(length, self.sizes()[d]);
    step += self.strides()[d];
  }
  fill(self.as_view(IntVector{length}, IntVector{step}, self.offset()), value);
  const int64_t rows = self.sizes()[0];
  const int64_t columns = self.sizes()[1];
  if (wrap && self.dim() == 2 && columns > 0 && rows > columns + 1) {
    // The diagonal of length `columns` starts again below each skipped row.
    for (int64_t top = columns + 1; top < rows; top += columns + 1) {
      fill_diagonal_(narrow(self, 0, top, std::min(columns, rows - top)), value, false);
    }
  }
  self.bump_version();
}

}  // namespace tierup::kernels
