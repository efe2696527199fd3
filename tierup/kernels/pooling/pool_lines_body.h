// The code of pool_lines.h; each including file is compiled for one instruction set and names the
// function that returns its table. Everything here has internal linkage, so that no variant is
// merged with another.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "tierup/base/machine.h"
#include "tierup/kernels/pooling/pool_lines.h"
#include "tierup/kernels/pooling/pool_planes_body.h"
#include "tierup/kernels/simd/vectors_body.h"

namespace tierup::kernels {
namespace {

// What sums of a line are divided by: a number for each column times one for the line.
struct Divisors {
  const float* columns;
  float line;
};

struct LargestFold {
  static float identity() { return -std::numeric_limits<float>::infinity(); }
  static FloatVector apply(FloatVector a, FloatVector b) { return (a > b) | (a != a) ? a : b; }
  static Divisors divisors(const PoolLines& /*lines*/, int64_t /*line*/) { return {}; }
  static FloatVector finish(FloatVector folded, Divisors /*by*/, int64_t /*x*/) { return folded; }
  static FloatVector finish_part(FloatVector folded, Divisors /*by*/, int64_t /*columns*/) {
    return folded;
  }
  static FloatVector finish_planes(FloatVector folded, Divisors /*by*/, int64_t /*x*/) {
    return folded;
  }
};
struct AverageFold {
  static float identity() { return 0; }
  static FloatVector apply(FloatVector a, FloatVector b) { return a + b; }
  static Divisors divisors(const PoolLines& lines, int64_t line) {
    return {lines.column_counts, lines.line_counts[line]};
  }
  static FloatVector finish(FloatVector folded, Divisors by, int64_t x) {
    return divided(folded, load_vector(by.columns + x) * by.line);
  }
  static FloatVector finish_part(FloatVector folded, Divisors by, int64_t columns) {
    return divided(folded, load_part(by.columns, columns) * by.line);
  }
  static FloatVector finish_planes(FloatVector folded, Divisors by, int64_t x) {
    return divided(folded, by.columns[x] * by.line - FloatVector{});
  }
  static FloatVector divided(FloatVector sums, FloatVector counts) {
    return counts == 0 ? FloatVector{} : sums / counts;
  }
};

// Places within the scratch: the folded line with its padding, then its parts. Whole vectors are
// read and dealt out behind the last number of each.
struct LineRoom {
  explicit LineRoom(const PoolWindow& w)
      : stride(w.stride[2]),
        each(((w.out[2] - 1) * stride + (w.kernel[2] - 1) * w.dilation[2]) / stride + 1),
        line(whole_vectors(std::max(each * stride, w.padding[2] + w.in[2])) + 3 * kMostFloats),
        part(whole_vectors(each) + kMostFloats) {}
  static constexpr int64_t kMostFloats = 16;  // Of a vector of any instruction set.
  static int64_t whole_vectors(int64_t count) {
    return (count + kMostFloats - 1) / kMostFloats * kMostFloats;
  }
  int64_t floats() const { return line + (stride == 1 ? 0 : stride * part); }
  // Lines that go through each step one after the other: what was stored a moment ago is not yet
  // there for a load that begins elsewhere.
  int64_t together() const {
    constexpr int64_t kMost = 16;
    const int64_t fitting = cache_sizes().first_level / int64_t{sizeof(float)} / 4 / floats();
    return std::clamp<int64_t>(fitting, 1, kMost);
  }

  int64_t stride;
  int64_t each;  // Numbers of a part.
  int64_t line;
  int64_t part;
};

// A line of windows: its plane, and where it stands in that.
struct LinePlace {
  LinePlace(const PoolLines& lines, int64_t index) {
    const PoolWindow& w = lines.w;
    line = index % (w.out[0] * w.out[1]);
    depth = line / w.out[1];
    height = line % w.out[1];
    plane = lines.in + index / (w.out[0] * w.out[1]) * w.in_points();
  }
  void advance(const PoolWindow& w) {
    ++line;
    if (++height < w.out[1]) return;
    height = 0;
    if (++depth < w.out[0]) return;
    line = depth = 0;
    plane += w.in_points();
  }
  const float* plane;
  int64_t line;
  int64_t depth;
  int64_t height;
};

// Lines of numbers, some of which are folded one below the other.
struct LineStack {
  const float* from;
  int64_t depths;
  int64_t depth_step;
  int64_t heights;
  int64_t height_step;
};

// `kVectors` vectors of columns stand in registers while the lines go by. The last of them begins
// `last` behind the first, which may be less than its place: it covers some columns once more.
template <typename Fold, int kVectors>
[[gnu::noinline]] void fold_columns(const LineStack& lines, int64_t x, int64_t last, float* to) {
  FloatVector folded[kVectors];
#pragma GCC unroll 4
  for (FloatVector& v : folded) v = Fold::identity() - FloatVector{};
  const float* from = lines.from + x;
  for (int64_t z = 0; z < lines.depths; ++z, from += lines.depth_step) {
    const float* line = from;
    for (int64_t y = 0; y < lines.heights; ++y, line += lines.height_step) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = v + 1 < kVectors ? v * kVectorFloats : last;
        folded[v] = Fold::apply(load_vector(line + at), folded[v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    store_vector(to + x + (v + 1 < kVectors ? v * kVectorFloats : last), folded[v]);
}

// Likewise the numbers that stand `taps` behind each column.
template <typename Fold, int kVectors>
[[gnu::noinline]] void fold_taps(const float* from, std::span<const int64_t> taps, int64_t last,
                                 Divisors by, float* to) {
  FloatVector folded[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v)
    folded[v] = load_vector(from + (v + 1 < kVectors ? v * kVectorFloats : last));
  for (const int64_t tap : taps) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v + 1 < kVectors ? v * kVectorFloats : last;
      folded[v] = Fold::apply(load_vector(from + tap + at), folded[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int64_t at = v + 1 < kVectors ? v * kVectorFloats : last;
    store_vector(to + at, Fold::finish(folded[v], by, at));
  }
}

// Calls body(vectors, x, last) for blocks of one to four vectors of `columns`, which are at least
// one vector's; see fold_columns.
template <typename Body>
void for_blocks(int64_t columns, const Body& body) {
  constexpr int64_t kWide = 4 * kVectorFloats;
  for (int64_t x = 0; x < columns; x += kWide) {
    const int64_t left = std::min(columns - x, kWide);
    const int64_t last = left - kVectorFloats;
    switch ((left + kVectorFloats - 1) / kVectorFloats) {
      case 1: body(std::integral_constant<int, 1>{}, x, last); break;
      case 2: body(std::integral_constant<int, 2>{}, x, last); break;
      case 3: body(std::integral_constant<int, 3>{}, x, last); break;
      default: body(std::integral_constant<int, 4>{}, x, last);
    }
  }
}

// Vectors in a row, in whose place come the numbers at every second, third or fourth place.
void part_two(FloatVector (&run)[2]) { part_pairs(run[0], run[1], run[0], run[1]); }
void part_four(FloatVector (&run)[4]) {
  FloatVector even[2];
  FloatVector odd[2];
  part_pairs(run[0], run[1], even[0], odd[0]);
  part_pairs(run[2], run[3], even[1], odd[1]);
  part_pairs(even[0], even[1], run[0], run[2]);
  part_pairs(odd[0], odd[1], run[1], run[3]);
}
// The numbers at 3 * lane + first: of two vectors as far as they reach, of the third behind them.
template <int kFirst, int... kLanes>
FloatVector every_third(const FloatVector (&run)[3],
                        std::integer_sequence<int, kLanes...> /*lanes*/) {
  constexpr int kTwo = 2 * kVectorFloats;
  const FloatVector low = __builtin_shufflevector(
      run[0], run[1], (3 * kLanes + kFirst < kTwo ? 3 * kLanes + kFirst : 0)...);
  return __builtin_shufflevector(
      low, run[2], (3 * kLanes + kFirst < kTwo ? kLanes : 3 * kLanes + kFirst - kVectorFloats)...);
}
void part_three(FloatVector (&run)[3]) {
  constexpr auto kLanes = std::make_integer_sequence<int, kVectorFloats>{};
  const FloatVector parts[3] = {every_third<0>(run, kLanes), every_third<1>(run, kLanes),
                                every_third<2>(run, kLanes)};
  std::copy_n(parts, 3, run);
}

template <typename Fold>
class LinePool {
 public:
  explicit LinePool(const PoolLines& lines) : p_(lines), w_(lines.w), room_(lines.w) {
    for (int64_t k = 1; k < w_.kernel[2]; ++k) {
      const int64_t at = k * w_.dilation[2];
      p_.taps[k - 1] = at % room_.stride * room_.part + at / room_.stride;
    }
  }

  void run(int64_t begin, int64_t end) const {
    const int64_t together = std::min(room_.together(), end - begin);
    std::fill_n(p_.scratch, together * room_.floats(), Fold::identity());
    LinePlace place(p_, begin);
    for (int64_t first = begin; first < end; first += together) {
      const int64_t lines = std::min(together, end - first);
      int64_t line = place.line;
      float* room = p_.scratch;
      for (int64_t i = 0; i < lines; ++i, room += room_.floats(), place.advance(w_))
        fold_lines(place, room + w_.padding[2]);
      room = p_.scratch;
      if (room_.stride > 1) {
        for (int64_t i = 0; i < lines; ++i, room += room_.floats())
          deal_out(room, room + room_.line);
        room = p_.scratch + room_.line;
      }
      for (int64_t i = 0; i < lines; ++i, room += room_.floats()) {
        fold_line(room, Fold::divisors(p_, line), p_.out + (first + i) * w_.out[2]);
        if (++line == w_.out[0] * w_.out[1]) line = 0;
      }
    }
  }

 private:
  void fold_lines(const LinePlace& place, float* to) const {
    const Reach depths(w_, 0, place.depth);
    const Reach heights(w_, 1, place.height);
    const int64_t columns = w_.in[2];
    const LineStack lines{place.plane + (depths.first * w_.in[1] + heights.first) * columns,
                          depths.count, depths.step * w_.in[1] * columns, heights.count,
                          heights.step * columns};
    if (columns < kVectorFloats) return fold_short_lines(lines, to);
    for_blocks(columns, [&]<int kVectors>(std::integral_constant<int, kVectors> /*vectors*/,
                                          int64_t x, int64_t last) {
      fold_columns<Fold, kVectors>(lines, x, last, to);
    });
  }
  void fold_short_lines(const LineStack& lines, float* to) const {
    FloatVector folded = Fold::identity() - FloatVector{};
    for (int64_t z = 0; z < lines.depths; ++z) {
      const float* line = lines.from + z * lines.depth_step;
      for (int64_t y = 0; y < lines.heights; ++y, line += lines.height_step)
        folded = Fold::apply(load_part(line, w_.in[2]), folded);
    }
    store_part(to, w_.in[2], folded);
  }

  // parts[r][i] = line[i * stride + r], the padding included.
  void deal_out(const float* from, float* parts) const {
    switch (room_.stride) {
      case 2: return deal_out_vectors<2>(from, parts, part_two);
      case 3: return deal_out_vectors<3>(from, parts, part_three);
      case 4: return deal_out_vectors<4>(from, parts, part_four);
      default: break;
    }
    for (int64_t i = 0; i < room_.each; ++i) {
      for (int64_t r = 0; r < room_.stride; ++r)
        parts[r * room_.part + i] = from[i * room_.stride + r];
    }
  }
  template <int kStride, typename Part>
  void deal_out_vectors(const float* from, float* parts, const Part& part) const {
    for (int64_t i = 0; i < room_.each; i += kVectorFloats) {
      FloatVector run[kStride];
#pragma GCC unroll 4
      for (int v = 0; v < kStride; ++v)
        run[v] = load_vector(from + kStride * i + v * kVectorFloats);
      part(run);
#pragma GCC unroll 4
      for (int r = 0; r < kStride; ++r) store_vector(parts + r * room_.part + i, run[r]);
    }
  }

  void fold_line(const float* parts, Divisors by, float* out) const {
    const std::span<const int64_t> taps(p_.taps, static_cast<size_t>(w_.kernel[2] - 1));
    const int64_t columns = w_.out[2];
    if (columns < kVectorFloats) {
      FloatVector folded = load_vector(parts);
      for (const int64_t tap : taps) folded = Fold::apply(load_vector(parts + tap), folded);
      return store_part(out, columns, Fold::finish_part(folded, by, columns));
    }
    for_blocks(columns, [&]<int kVectors>(std::integral_constant<int, kVectors> /*vectors*/,
                                          int64_t x, int64_t last) {
      fold_taps<Fold, kVectors>(parts + x, taps, last, {by.columns + x, by.line}, out + x);
    });
  }

  const PoolLines& p_;
  const PoolWindow& w_;
  const LineRoom room_;
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

constexpr PoolKernels kPoolKernels{{&run_lines<LargestFold>, &run_planes<LargestFold>},
                                   {&run_lines<AverageFold>, &run_planes<AverageFold>},
                                   &average_planes,
                                   kVectorFloats};

}  // namespace
}  // namespace tierup::kernels
