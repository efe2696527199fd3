// The code of pool_lines.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
#pragma once

#include <algorithm>
#include <limits>

#include "tierup/kernels/pooling/pool_lines.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

struct LargestFold {
  static float identity() { return -std::numeric_limits<float>::infinity(); }
  static FloatVector apply(FloatVector a, FloatVector b) { return (a > b) | (a != a) ? a : b; }
  static FloatVector finish(const PoolLines& /*lines*/, int64_t /*line*/, int64_t /*column*/,
                            int64_t /*columns*/, FloatVector folded) {
    return folded;
  }
};
struct AverageFold {
  static float identity() { return 0; }
  static FloatVector apply(FloatVector a, FloatVector b) { return a + b; }
  static FloatVector finish(const PoolLines& lines, int64_t line, int64_t column, int64_t columns,
                            FloatVector folded) {
    const FloatVector counts =
        load_columns(lines.column_counts + column, columns) * lines.line_counts[line];
    return counts == 0 ? FloatVector{} : folded / counts;
  }
};

// Places within the scratch: the folded line with its padding, then its parts. Whole vectors are
// read and dealt out behind the last number of each.
struct LineRoom {
  explicit LineRoom(const PoolWindow& w)
      : stride(w.stride[2]),
        each(((w.out[2] - 1) * stride + (w.kernel[2] - 1) * w.dilation[2]) / stride + 1),
        line(whole_vectors(std::max(each * stride, w.padding[2] + w.in[2])) + 2 * kMostFloats),
        part(whole_vectors(each) + kMostFloats) {}
  static constexpr int64_t kMostFloats = 16;  // Of a vector of any instruction set.
  static int64_t whole_vectors(int64_t count) {
    return (count + kMostFloats - 1) / kMostFloats * kMostFloats;
  }
  int64_t floats() const { return line + (stride == 1 ? 0 : stride * part); }

  int64_t stride;
  int64_t each;  // Numbers of a part.
  int64_t line;
  int64_t part;
};

template <typename Fold>
class LinePool {
 public:
  explicit LinePool(const PoolLines& lines)
      : p_(lines),
        w_(lines.w),
        room_(lines.w),
        line_(lines.scratch + w_.padding[2]),
        parts_(room_.stride == 1 ? lines.scratch : lines.scratch + room_.line) {
    std::fill_n(lines.scratch, room_.floats(), Fold::identity());
  }

  void run(int64_t begin, int64_t end) {
    const int64_t lines = w_.out[0] * w_.out[1];
    int64_t line = begin % lines;
    const float* plane = p_.in + begin / lines * w_.in_points();
    for (int64_t index = begin; index < end; ++index) {
      fold_lines(plane, reach_of(0, line / w_.out[1]), reach_of(1, line % w_.out[1]));
      if (room_.stride > 1) deal_out();
      fold_taps(line, p_.out + index * w_.out[2]);
      if (++line == lines) {
        line = 0;
        plane += w_.in_points();
      }
    }
  }

 private:
  struct Reach {
    int64_t first, step, last;
  };
  Reach reach_of(size_t d, int64_t index) const {
    int64_t first = index * w_.stride[d] - w_.padding[d];
    const int64_t step = w_.dilation[d];
    const int64_t last = std::min(first + (w_.kernel[d] - 1) * step + 1, w_.in[d]);
    if (first < 0) first += (-first + step - 1) / step * step;
    return {first, step, last};
  }

  // Some vectors of columns stand in registers while the lines go by.
  void fold_lines(const float* plane, const Reach& depths, const Reach& heights) {
    constexpr int64_t kWide = 4 * kVectorFloats;
    for (int64_t x = 0; x < w_.in[2]; x += kWide) {
      const int64_t left = w_.in[2] - x;
      switch (left >= kWide ? 4 : (left + kVectorFloats - 1) / kVectorFloats) {
        case 1: fold_columns<1>(plane, depths, heights, x, left); break;
        case 2: fold_columns<2>(plane, depths, heights, x, left); break;
        case 3: fold_columns<3>(plane, depths, heights, x, left); break;
        default: fold_columns<4>(plane, depths, heights, x, left);
      }
    }
  }
  template <int kVectors>
  void fold_columns(const float* plane, const Reach& depths, const Reach& heights, int64_t x,
                    int64_t count) {
    FloatVector folded[kVectors];
    for (FloatVector& v : folded) v = Fold::identity() - FloatVector{};
    for (int64_t z = depths.first; z < depths.last; z += depths.step) {
      for (int64_t y = heights.first; y < heights.last; y += heights.step) {
        const float* from = plane + (z * w_.in[1] + y) * w_.in[2] + x;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const int64_t left = count - v * kVectorFloats;
          folded[v] = Fold::apply(load_columns(from + v * kVectorFloats, left), folded[v]);
        }
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      store_columns(line_ + x + v * kVectorFloats, count - v * kVectorFloats, folded[v]);
  }

  // parts[r][i] = line[i * stride + r], the padding included.
  void deal_out() const {
    const float* from = p_.scratch;
    if (room_.stride == 2) {
      for (int64_t i = 0; i < room_.each; i += kVectorFloats) {
        FloatVector even;
        FloatVector odd;
        part_pairs(load_vector(from + 2 * i), load_vector(from + 2 * i + kVectorFloats), even, odd);
        store_vector(parts_ + i, even);
        store_vector(parts_ + room_.part + i, odd);
      }
      return;
    }
    for (int64_t i = 0; i < room_.each; ++i) {
      for (int64_t r = 0; r < room_.stride; ++r)
        parts_[r * room_.part + i] = from[i * room_.stride + r];
    }
  }

  void fold_taps(int64_t line, float* out) const {
    for (int64_t x = 0; x < w_.out[2]; x += kVectorFloats) {
      FloatVector folded = load_vector(parts_ + x);
      for (int64_t k = 1, rest = 0, offset = 0; k < w_.kernel[2]; ++k) {
        rest += w_.dilation[2];
        for (; rest >= room_.stride; rest -= room_.stride) ++offset;
        folded = Fold::apply(load_vector(parts_ + rest * room_.part + offset + x), folded);
      }
      const int64_t left = w_.out[2] - x;
      store_columns(out + x, left, Fold::finish(p_, line, x, left, folded));
    }
  }

  const PoolLines& p_;
  const PoolWindow& w_;
  const LineRoom room_;
  float* const line_;  // Behind the padding.
  float* const parts_;
};

template <typename Fold>
void run_lines(const PoolLines& lines, int64_t begin, int64_t end) {
  LinePool<Fold>(lines).run(begin, end);
}

// As many planes at once as a vector has lanes: one vector of sums each, which are then turned.
void average_planes(const float* in, int64_t planes, int64_t points, float count, float* out) {
  for (int64_t first = 0; first < planes; first += kVectorFloats) {
    const int64_t left = planes - first;
    FloatVector sums[kVectorFloats] = {};
    for (int64_t i = 0; i < std::min<int64_t>(left, kVectorFloats); ++i) {
      const float* plane = in + (first + i) * points;
      for (int64_t at = 0; at < points; at += kVectorFloats)
        sums[i] += load_columns(plane + at, points - at);
    }
    transpose(sums);
    FloatVector total{};
    for (const FloatVector& sum : sums) total += sum;
    store_columns(out + first, left, total / count);
  }
}

constexpr PoolKernels kPoolKernels{&run_lines<LargestFold>, &run_lines<AverageFold>,
                                   &average_planes};

}  // namespace
}  // namespace tierup::kernels
