// One part of a convolution by panels; see panel_convolution.h. Compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/memory/copy_apart_body.h"
#include "tierup/kernels/net/panel_body.h"
#include "tierup/kernels/net/panel_convolution.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels::net {
namespace {

// The last numbers go along with some before them, twice.
inline void copy_floats(const float* from, int64_t count, float* to) {
  if (count < kLanes) {
    for (int64_t i = 0; i < count; i += kVectorFloats)
      store_columns(to + i, count - i, load_columns(from + i, count - i));
    return;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load(from + i));
  if (i < count) store(to + count - kLanes, load(from + count - kLanes));
}

// Which points of the window lie inside the source for any of some rows: wide dilations leave most
// of a window outside of a small image, and what all rows read there is zero.
class WindowsInside {
 public:
  WindowsInside(const PanelConvolution& p, int64_t first_row, int64_t last_row) : p_(p) {
    const int64_t first_line = first_row / p.out_width;
    const int64_t last_line = (last_row - 1) / p.out_width;
    const bool is_one_image = first_line / p.out_height == last_line / p.out_height;
    lines_ = is_one_image ? Range{first_line % p.out_height, last_line % p.out_height}
                          : Range{0, p.out_height - 1};
    columns_ = first_line == last_line
                   ? Range{first_row % p.out_width, (last_row - 1) % p.out_width}
                   : Range{0, p.out_width - 1};
  }

  // The first such point from `point` on, and the end of those that follow one another.
  int64_t first(int64_t point) const { return next(point, true); }
  int64_t end(int64_t point) const { return next(point, false); }

 private:
  struct Range {
    int64_t first, last;
  };

  int64_t next(int64_t point, bool inside) const {
    const int64_t points = p_.kernel_height * p_.kernel_width;
    while (point < points && is_inside(point) != inside) ++point;
    return point;
  }
  bool is_inside(int64_t point) const {
    return meets(lines_, p_.stride_y, point / p_.kernel_width * p_.dilation_y - p_.pad_top,
                 p_.height) &&
           meets(columns_, p_.stride_x, point % p_.kernel_width * p_.dilation_x - p_.pad_left,
                 p_.width);
  }
  // Whether 0 <= i * stride + offset < size for any i of the range.
  static bool meets(const Range& range, int64_t stride, int64_t offset, int64_t size) {
    const int64_t least = offset < 0 ? (-offset + stride - 1) / stride : 0;
    const int64_t i = std::max(range.first, least);
    return i <= range.last && i * stride + offset < size;
  }

  const PanelConvolution& p_;
  Range lines_, columns_;
};

class ConvolutionRunner {
 public:
  // `is_inside`: all windows lie inside of one line.
  ConvolutionRunner(const ConvolutionPart& part, bool is_inside)
      : part_(part),
        p_(*part.problem),
        is_inside_(is_inside),
        depth_(p_.depth()),
        channels_(part.last_channel - part.first_channel),
        rows_(part.last_row - part.first_row),
        gathered_(part.scratch),
        sums_(gathered_ + gathered_count(p_, rows_)) {}

  void run() {
    const WindowsInside inside(p_, part_.first_row, part_.last_row);
    const int64_t windows = p_.kernel_height * p_.kernel_width;
    const int64_t most = is_inside_ ? kConvolutionRowDepth : convolution_part_depth(p_);
    // There is room for sums only beside rows that are multiplied in parts.
    if (depth_ <= most) return multiply(0, depth_, true, true);
    int64_t begin = inside.first(0);
    if (begin == windows) return multiply(0, most, true, true);  // Zeros alone.
    for (bool is_first = true; begin < windows; is_first = false) {
      const int64_t end = inside.end(begin);
      const int64_t next = inside.first(end);
      const int64_t start = begin * p_.in_channels;
      const int64_t count = (end - begin) * p_.in_channels;
      // Between points, where these lie apart and are read where they are.
      const int64_t unit = is_inside_ && p_.dilation_x > 1 ? p_.in_channels : 1;
      const int64_t units = count / unit;
      const int64_t together = std::max<int64_t>(1, most / unit);
      const int64_t blocks = (units + together - 1) / together;
      for (int64_t i = 0; i < blocks; ++i) {
        multiply(start + units * i / blocks * unit, start + units * (i + 1) / blocks * unit,
                 is_first && i == 0, next == windows && i == blocks - 1);
      }
      begin = next;
    }
  }

 private:
  void read_line(int64_t from, PanelProduct& product) const {
    const int64_t channels = p_.in_channels;
    const int64_t x = part_.first_row % p_.out_width * p_.stride_x - p_.pad_left;
    const int64_t line = part_.first_row / p_.out_width * p_.width;
    const int64_t point = line + x + from / channels * p_.dilation_x;
    product.a = part_.source + point * channels + from % channels;
    product.a_stride = p_.stride_x * channels;
    if (p_.dilation_x > 1) {
      product.run = channels;
      product.gap = (p_.dilation_x - 1) * channels;
    }
  }

  // Adds numbers `from` to `to` of the windows to the sums of those before.
  void multiply(int64_t from, int64_t to, bool is_first, bool is_last) {
    const bool is_there = is_inside_ || convolution_reads_rows(p_);
    PanelProduct product{};
    product.a = gathered_;
    product.a_stride = p_.row_stride > 0 ? p_.row_stride : p_.in_channels;
    if (is_inside_) {
      read_line(from, product);
    } else if (is_there) {
      product.a = part_.source + part_.first_row * product.a_stride + from;
    } else if (p_.is_planar) {
      product.a_stride = convolution_apart(rows_);
      gather_columns(from, to);
    } else {
      gather_rows(from, to);
    }
    product.rows = rows_;
    product.depth = to - from;
    product.sums_stride = sums_stride();
    product.c_stride = is_last ? p_.out_channels : sums_stride();
    if (is_last) product.finish.steps = part_.steps;
    product.panel_step = depth_ * p_.panel;
    for (int64_t column = 0; column < channels_; column += p_.panel * product.panels) {
      const int64_t channel = part_.first_channel + column;
      product.panels = is_there ? panels_from(column) : 1;
      product.width =
          product.panels * static_cast<int>(panel_width(p_.panel, p_.out_channels, channel));
      product.b = weights_at(from, channel);
      product.ahead =
          reinterpret_cast<const char*>(next_weights(from, to, column + p_.panel * product.panels));
      product.ahead_bytes = product.depth * product.width * 4;
      product.sums = is_first ? nullptr : sums_ + column;
      product.columns = p_.out_channels - channel;
      product.c =
          is_last ? part_.target + part_.first_row * p_.out_channels + channel : sums_ + column;
      product.finish.bias = is_last ? part_.bias + channel : nullptr;
      if (is_there) {
        multiply_panel<0>(product);
      } else if (p_.is_planar) {
        multiply_panel<kSideBySide>(product);
      } else {
        multiply_panel<kConvolutionStride>(product);
      }
    }
  }

  int64_t sums_stride() const { return (channels_ + kPanelGrain - 1) / kPanelGrain * kPanelGrain; }

  const float* weights_at(int64_t from, int64_t channel) const {
    return part_.weights + channel * depth_ +
           from * panel_width(p_.panel, p_.out_channels, channel);
  }
  // Those of panels_together() that are left from this one on: all, or half of them.
  int panels_from(int64_t column) const {
    const int64_t left = (channels_ - column + p_.panel - 1) / p_.panel;
    int together = p_.panel == kPanelGrain ? panels_together(rows_) : 1;
    while (together > left) together /= 2;
    return together;
  }
  // The panel of this column, the next one; at the end, the first one of the next channels.
  const float* next_weights(int64_t from, int64_t to, int64_t column) const {
    if (column < channels_) return weights_at(from, part_.first_channel + column);
    if (to < depth_) return weights_at(to, part_.first_channel);
    return weights_at(0, part_.last_channel < p_.out_channels ? part_.last_channel : 0);
  }

  // Numbers `from` to `to` of each row's window.
  void gather_rows(int64_t from, int64_t to) {
    find_runs(from, to);
    int64_t image = part_.first_row / (p_.out_height * p_.out_width);
    int64_t y = part_.first_row / p_.out_width % p_.out_height;
    int64_t x = part_.first_row % p_.out_width;
    float* row = gathered_;
    for (int64_t r = 0; r < rows_; ++r, row += kConvolutionStride) {
      gather(part_.source + image * p_.height * p_.width * p_.in_channels,
             y * p_.stride_y - p_.pad_top, x * p_.stride_x - p_.pad_left, row);
      if (++x < p_.out_width) continue;
      x = 0;
      if (++y < p_.out_height) continue;
      y = 0;
      ++image;
    }
  }

  // Numbers of a window that lie side by side: `count`, from number `first` of the point (y, x) on.
  struct Run {
    int64_t y, x, first, count;
  };

  // Points that lie beside one another go together, unless the window has holes.
  void find_runs(int64_t from, int64_t to) {
    const int64_t together = p_.dilation_x == 1 ? p_.kernel_width : 1;
    const int64_t length = together * p_.in_channels;
    run_count_ = 0;
    while (from < to) {
      const int64_t point = from / length * together;
      const int64_t count = std::min(to - from, length - from % length);
      runs_[run_count_++] = {point / p_.kernel_width * p_.dilation_y,
                             point % p_.kernel_width * p_.dilation_x, from % length, count};
      from += count;
    }
  }

  void gather(const float* image, int64_t top, int64_t left, float* row) const {
    for (int i = 0; i < run_count_; ++i) {
      const Run& run = runs_[i];
      copy_points(image, top + run.y, left + run.x, run.first, run.count, row);
      row += run.count;
    }
  }

  // `count` numbers from number `first` of the point (y, x) on; zeros for what lies outside.
  void copy_points(const float* image, int64_t y, int64_t x, int64_t first, int64_t count,
                   float* to) const {
    if (y < 0 || y >= p_.height) {
      std::fill_n(to, count, 0.0F);
      return;
    }
    const int64_t begin = x * p_.in_channels + first;
    const int64_t end = begin + count;
    const int64_t from = std::clamp<int64_t>(begin, 0, p_.width * p_.in_channels);
    const int64_t until = std::clamp<int64_t>(end, from, p_.width * p_.in_channels);
    const float* line = image + y * p_.width * p_.in_channels;
    if (from > begin) std::fill_n(to, std::min(from, end) - begin, 0.0F);
    if (until > from) copy_floats(line + from, until - from, to + (from - begin));
    const int64_t rest = std::max(until, begin);
    if (rest < end) std::fill_n(to + (rest - begin), end - rest, 0.0F);
  }

  // Of planes: numbers `from` to `to` of the windows, each of all rows at a time.
  void gather_columns(int64_t from, int64_t to) {
    const int64_t lines = p_.out_height;
    for (int64_t row = part_.first_row; row < part_.last_row;) {
      const int64_t line = row / p_.out_width;
      const int64_t x = row % p_.out_width;
      const int64_t count = std::min(p_.out_width - x, part_.last_row - row);
      gather_line(line / lines, line % lines, x, count, from, to,
                  gathered_ + (row - part_.first_row));
      row += count;
    }
  }

  // For `count` results of line y from x on.
  void gather_line(int64_t image, int64_t y, int64_t x, int64_t count, int64_t from, int64_t to,
                   float* target) const {
    const float* planes = part_.source + image * p_.in_channels * p_.height * p_.width;
    for (int64_t i = from; i < to; ++i, target += convolution_apart(rows_)) {
      const int64_t point = i / p_.in_channels;
      const int64_t channel = i % p_.in_channels;
      const int64_t top = y * p_.stride_y - p_.pad_top + point / p_.kernel_width * p_.dilation_y;
      const int64_t left = x * p_.stride_x - p_.pad_left + point % p_.kernel_width * p_.dilation_x;
      const bool is_inside = top >= 0 && top < p_.height;
      // Those whose number lies in the line.
      const int64_t before = left < 0 ? (-left + p_.stride_x - 1) / p_.stride_x : 0;
      const int64_t inside = left < p_.width ? (p_.width - 1 - left) / p_.stride_x + 1 : 0;
      const int64_t begin = is_inside ? std::min(before, count) : count;
      const int64_t end = std::clamp(inside, begin, count);
      std::fill_n(target, begin, 0.0F);
      if (begin < end) {
        copy_apart(planes + (channel * p_.height + top) * p_.width + left + begin * p_.stride_x,
                   p_.stride_x, end - begin, target + begin);
      }
      std::fill_n(target + end, count - end, 0.0F);
    }
  }

  const ConvolutionPart& part_;
  const PanelConvolution& p_;
  const bool is_inside_;
  const int64_t depth_;
  const int64_t channels_;
  const int64_t rows_;
  float* gathered_;              // [row][kConvolutionStride]
  float* sums_;                  // [row][sums_stride()]
  Run runs_[kConvolutionDepth];  // Of the depth at hand.
  int run_count_ = 0;
};

struct Rows {
  int64_t first, last;
};

// The next rows from `row` on whose windows lie inside of a line, where they are enough; none at
// the part's end.
Rows next_inside(const ConvolutionPart& part, int64_t row) {
  const PanelConvolution& p = *part.problem;
  const int64_t reach = (p.kernel_width - 1) * p.dilation_x;
  const int64_t begin = (p.pad_left + p.stride_x - 1) / p.stride_x;
  const int64_t room = p.width - 1 - reach + p.pad_left;
  const int64_t end = room < 0 ? 0 : std::min(room / p.stride_x + 1, p.out_width);
  for (int64_t line = row / p.out_width; line * p.out_width < part.last_row; ++line) {
    const int64_t first = std::max(row, line * p.out_width + begin);
    const int64_t last = std::min(part.last_row, line * p.out_width + end);
    if (last - first >= kConvolutionInside) return {first, last};
  }
  return {part.last_row, part.last_row};
}

void run_rows(ConvolutionPart part, Rows rows, bool are_inside) {
  part.first_row = rows.first;
  part.last_row = rows.last;
  ConvolutionRunner(part, are_inside).run();
}

void run_part(const ConvolutionPart& part) {
  if (!convolution_reads_lines(*part.problem)) return ConvolutionRunner(part, false).run();
  for (int64_t row = part.first_row; row < part.last_row;) {
    const Rows inside = next_inside(part, row);
    if (row < inside.first) run_rows(part, {row, inside.first}, false);
    if (inside.first < inside.last) run_rows(part, inside, true);
    row = inside.last;
  }
}

}  // namespace
}  // namespace tierup::kernels::net
