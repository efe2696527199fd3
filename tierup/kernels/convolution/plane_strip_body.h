// A strip: the rows of some planes that a range of result points reads, with zeros around them and
// columns sorted by their remainder of the stride, so that windows side by side read numbers side
// by side. For kernels compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/convolution/plane_convolution.h"
#include "tierup/kernels/convolution/plane_tile_body.h"
#include "tierup/kernels/memory/copy_apart_body.h"

namespace tierup::kernels {
namespace {

struct Strip {
  // Of the columns with one remainder of the stride: what there is of a row between zeros.
  struct Phase {
    int64_t before, end;
    int64_t from;  // Column of the first of them in the planes.
  };
  int64_t first_row;  // Of the planes; may be negative.
  int64_t rows;
  int64_t first_column;  // Of the results.
  int64_t stride;
  int64_t phases;  // Remainders of the stride that windows begin with.
  int64_t phase_width;
  int64_t pitch;  // From row to row.
  Phase phase[kMostPhases];

  int64_t plane() const { return rows * pitch; }
  // Where the numbers of a window stand, from where it begins.
  void offsets(const PlanePart& p, int32_t* result) const {
    for (int64_t y = 0; y < p.kernel_height; ++y) {
      int64_t phase = 0;
      int64_t column = 0;
      for (int64_t x = 0; x < p.kernel_width; ++x, phase += p.dilation_x) {
        for (; phase >= stride; phase -= stride) ++column;
        *result++ = static_cast<int32_t>(y * p.dilation_y * pitch + phase * phase_width + column);
      }
    }
  }
};

// Of every stride-th column of the planes from `first` on, which may be negative: `columns` of
// them.
inline Strip::Phase phase_from(const PlanePart& p, int64_t first, int64_t columns) {
  const int64_t stride = p.stride_x;
  const int64_t outside = first < 0 ? (-first + stride - 1) / stride : 0;
  const int64_t before = std::min(outside, columns);
  const int64_t inside = first < p.width ? (p.width - first + stride - 1) / stride : 0;
  return {before, std::clamp(inside, before, columns), first + before * stride};
}

// For `rows` rows of results, from row `top` on, of `columns` points each, from column `left` on.
inline Strip strip_of(const PlanePart& p, int64_t top, int64_t rows, int64_t left,
                      int64_t columns) {
  const int64_t reach_x = (p.kernel_width - 1) * p.dilation_x;
  const int64_t reach_y = (p.kernel_height - 1) * p.dilation_y;
  Strip s{};
  s.first_row = top * p.stride_y - p.pad_top;
  s.rows = (rows - 1) * p.stride_y + reach_y + 1;
  s.first_column = left;
  s.stride = p.stride_x;
  s.phases = std::min(p.stride_x, reach_x + 1);
  s.phase_width = columns + reach_x / p.stride_x;
  s.pitch = s.phases * s.phase_width;
  for (int64_t i = 0; i < s.phases; ++i)
    s.phase[i] = phase_from(p, left * s.stride + i - p.pad_left, s.phase_width);
  return s;
}

// Both in whole vectors, which may reach into what is filled afterwards, or the room at the end.
inline void fill_zeros(float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += kVectorFloats) store_vector(to + i, FloatVector{});
}
inline void copy_row(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kVectorFloats)
    store_vector(to + i, load_columns(from + i, count - i));
}

// A row's columns of one phase, of `columns` with what is outside.
inline void fill_phase(const float* row, const Strip::Phase& phase, int64_t stride, int64_t columns,
                       float* to) {
  const int64_t count = phase.end - phase.before;
  fill_zeros(to, phase.before);
  if (stride == 1) {
    copy_row(row + phase.from, count, to + phase.before);
  } else {
    copy_apart(row + phase.from, stride, count, to + phase.before);
  }
  fill_zeros(to + phase.end, columns - phase.end);
}

// `to` has a vector's room behind the last plane. Filled in order.
inline void fill_strip(const PlanePart& p, const Strip& s, const float* planes, int64_t channels,
                       float* to) {
  for (int64_t c = 0; c < channels; ++c, planes += p.plane_step) {
    for (int64_t r = 0; r < s.rows; ++r, to += s.pitch) {
      const int64_t y = s.first_row + r;
      if (y < 0 || y >= p.height) {
        fill_zeros(to, s.pitch);
        continue;
      }
      const float* row = planes + y * p.width;
      float* place = to;
      for (int64_t i = 0; i < s.phases; ++i, place += s.phase_width)
        fill_phase(row, s.phase[i], s.stride, s.phase_width, place);
    }
  }
}

}  // namespace
}  // namespace tierup::kernels
