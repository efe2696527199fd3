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
    are_flat_ = p.stride_x == 1 && p.stride_y == 1 && columns == p.width && columns <= kMostFlat;
    for (int64_t x = 0; are_flat_ && x < p.kernel_width; ++x) lanes_[x] = lanes_of(shifts_[x]);
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
    if (are_flat_) return fill_flat(p, planes, channels, to);
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

  // Bit i: whether the i-th number from a row's first column on, over the ends of rows, lies inside
  // of the plane.
  uint32_t lanes_of(const Strip::Phase& shift) const {
    const uint32_t row = (1U << shift.end) - (1U << shift.before);
    uint32_t lanes = 0;
    for (int64_t i = 0; i < kVectorFloats + columns_; i += columns_) lanes |= row << i;
    return lanes;
  }

  // Rows of results are as long as those of planes: a shift is a stretch of the plane, but for what
  // lies outside of rows. Several rows at a time. Never inlined: see gather_pieces().
  [[gnu::noinline]] void fill_flat(const PlanePart& p, const float* planes, int64_t channels,
                                   float* to) const {
    const int64_t first = std::clamp<int64_t>(-first_row_, 0, phase_rows_);
    const int64_t last = std::clamp<int64_t>(p.height - first_row_, first, phase_rows_);
    const int64_t columns = columns_;
    const int64_t count = (last - first) * columns;
    const int64_t step = kVectorFloats % columns;
    for (int64_t c = 0; c < channels; ++c, planes += p.plane_step) {
      for (int64_t x = 0; x < p.kernel_width; ++x, to += phase_rows_ * columns_) {
        fill_zeros(to, first * columns_);
        float* inside = to + first * columns_;
        const float* from =
            planes + (first_row_ + first) * p.width + shifts_[x].from - shifts_[x].before;
        const uint32_t all = lanes_[x];
        int64_t column = 0;
        int64_t i = 0;
        for (; i + kVectorFloats <= count; i += kVectorFloats) {
          store_vector(inside + i, load_masked(from + i, all >> column));
          column += column + step < columns ? step : step - columns;
        }
        if (i < count) {
          const uint32_t left = (1U << (count - i)) - 1;
          store_vector(inside + i, load_masked(from + i, all >> column & left));
        }
        fill_zeros(inside + count, (phase_rows_ - last) * columns_);
      }
    }
  }

  static constexpr int64_t kMostFlat =
      kVectorFloats / 2;  // Columns: of longer rows a vector holds one.
  bool are_flat_ = false;
  int64_t first_row_ = 0;  // Of the planes; may be negative.
  int64_t phases_ = 0;
  int64_t phase_rows_ = 0;
  int64_t columns_ = 0;
  Strip::Phase shifts_[kMost];
  uint32_t lanes_[kMost];
};

}  // namespace
}  // namespace tierup::kernels
