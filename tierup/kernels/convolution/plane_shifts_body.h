// Shifts: for each column of a window the rows that a range of result points reads, as long as the
// rows of results, with zeros where a window reaches over the edge. In each the range's points lie
// side by side, over the ends of rows: vectors are read where they stand, however short rows are.
// Rows are sorted by their remainder of the stride. For kernels compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/plane_strip_body.h"

namespace tierup::kernels {
namespace {

class Shifts {
 public:
  Shifts() = default;
  // For `rows` rows of results, from row `top` on, of `columns` points each, from column `left` on.
  Shifts(const PlanePart& p, int64_t top, int64_t rows, int64_t left, int64_t columns)
      : first_row_(top * p.stride_y - p.pad_top),
        phases_(std::min(p.stride_y, (p.kernel_height - 1) * p.dilation_y + 1)),
        phase_rows_(rows + (p.kernel_height - 1) * p.dilation_y / p.stride_y),
        columns_(columns) {
    for (int64_t x = 0; x < p.kernel_width; ++x) {
      const int64_t first = left * p.stride_x + x * p.dilation_x - p.pad_left;
      shifts_[x] = phase_from(p, first, columns);
    }
  }

  static constexpr int64_t kMost = 32;  // Columns of a window.
  int64_t plane(const PlanePart& p) const { return p.kernel_width * shift(); }

  // Where the numbers of a window stand, from where it begins.
  void offsets(const PlanePart& p, int32_t* result) const {
    for (int64_t y = 0; y < p.kernel_height; ++y) {
      const int64_t down = y * p.dilation_y;
      const int64_t row = down % p.stride_y * phase_rows_ + down / p.stride_y;
      for (int64_t x = 0; x < p.kernel_width; ++x)
        *result++ = static_cast<int32_t>(x * shift() + row * columns_);
    }
  }

  // `to` has a vector's room behind the last plane. Filled in order.
  void fill(const PlanePart& p, const float* planes, int64_t channels, float* to) const {
    const bool is_short = p.stride_x == 1 && columns_ <= kVectorFloats;
    for (int64_t c = 0; c < channels; ++c, planes += p.plane_step) {
      for (int64_t x = 0; x < p.kernel_width; ++x) {
        for (int64_t phase = 0; phase < phases_; ++phase, to += phase_rows_ * columns_) {
          const int64_t first = first_row_ + phase;
          if (is_short) {
            fill_short_rows(p, shifts_[x], planes, first, to);
          } else {
            fill_rows(p, shifts_[x], planes, first, to);
          }
        }
      }
    }
  }

 private:
  int64_t shift() const { return phases_ * phase_rows_ * columns_; }

  // Every stride-th row of a plane from row `y` on.
  void fill_rows(const PlanePart& p, Strip::Phase shift, const float* plane, int64_t y,
                 float* to) const {
    for (int64_t r = 0; r < phase_rows_; ++r, y += p.stride_y, to += columns_) {
      if (y < 0 || y >= p.height) {
        fill_zeros(to, columns_);
      } else {
        fill_phase(plane + y * p.width, shift, p.stride_x, columns_, to);
      }
    }
  }

  // A vector each, zeros included.
  void fill_short_rows(const PlanePart& p, Strip::Phase shift, const float* plane, int64_t y,
                       float* to) const {
    const int64_t height = p.height;
    const int64_t step = p.stride_y;
    const int64_t columns = columns_;
    const float* row = plane + y * p.width + shift.from - shift.before;
    for (int64_t r = phase_rows_; r > 0; --r, y += step, row += step * p.width, to += columns) {
      const bool is_inside = y >= 0 && y < height;
      store_vector(to, is_inside ? load_lanes(row, shift.before, shift.end) : FloatVector{});
    }
  }

  int64_t first_row_ = 0;  // Of the planes; may be negative.
  int64_t phases_ = 0;
  int64_t phase_rows_ = 0;
  int64_t columns_ = 0;
  Strip::Phase shifts_[kMost];
};

}  // namespace
}  // namespace tierup::kernels
