// The code of grid_places.h; each including file is compiled for one instruction set.
//
// A point of the result is the sum over some lines of a sum over as many neighbours in each: one,
// two or four, each with the weight of its line and of its column. Where all neighbours of a group
// of points lie in the image, those of a point are read four at a time and transposed; elsewhere
// they are gathered one by one, and those outside are not read.
#pragma once

#include "tierup/kernels/simd/simd_lanes.h"
#include "tierup/kernels/simd/vectors_body.h"
#include "tierup/kernels/vision/grid_places.h"

namespace tierup::kernels::TIERUP_SIMD {
namespace {

using Floats = Vec<float>;
using Ints = Floats::IntNative;
using Truth = Mask<float>;
typedef float Quad __attribute__((vector_size(16)));
constexpr int kLanes = Floats::kLanes;

// The neighbours of a group's points in one dimension: how far from the image's first number, -1
// outside, and the weight, zero outside.
template <int kTaps>
struct Neighbours {
  Ints at[kTaps];
  Floats::Native weight[kTaps];
};

template <int kTaps>
struct Group {
  Neighbours<kTaps> columns;
  Neighbours<kTaps> lines;
  bool is_inside;  // All of them lie in the image, side by side.
};

// One dimension of an image.
struct Axis {
  int64_t size;
  int64_t stride;
  GridPadding padding;
  bool align_corners;
  bool in_pixels;
};

TIERUP_INLINE Floats lanes_of(int64_t number) { return Floats(static_cast<double>(number)); }

TIERUP_INLINE Floats unnormalize(Floats x, const Axis& axis) {
  const Floats one(1.0);
  const Floats half(0.5);
  if (axis.in_pixels) return x;
  if (axis.align_corners) return (x + one) * half * lanes_of(axis.size - 1);
  return ((x + one) * lanes_of(axis.size) - one) * half;
}

// Folds coordinates back at the middles of the outermost points, or at their outer rims.
TIERUP_INLINE Floats reflect(Floats x, const Axis& axis) {
  const Floats low(axis.align_corners ? 0.0 : -0.5);
  const Floats span = lanes_of(axis.align_corners ? axis.size - 1 : axis.size);
  if (axis.align_corners && axis.size == 1) return Floats(0.0);
  const Floats distance = abs(x - low);
  const Floats folds = floor(distance / span);
  const Floats extra = distance - folds * span;
  const Floats half_folds = folds * Floats(0.5);
  return select(floor(half_folds) == half_folds, extra, span - extra) + low;
}

// Not a number goes to 0, too.
TIERUP_INLINE Floats clip(Floats x, int64_t size) {
  const Floats limit = lanes_of(size - 1);
  return select(x > Floats(0.0), select(x < limit, x, limit), Floats(0.0));
}

// The coordinates that padding makes of some; may stay outside with zeros.
TIERUP_INLINE Floats padded(Floats x, const Axis& axis) {
  if (axis.padding == GridPadding::kZeros) return x;
  return clip(axis.padding == GridPadding::kReflection ? reflect(x, axis) : x, axis.size);
}

TIERUP_INLINE Truth within(Floats at, int64_t size) {
  return (at >= Floats(0.0)) & (at < lanes_of(size));
}

template <int kTaps>
TIERUP_INLINE void set_neighbour(const Axis& axis, int k, Floats at, Floats weight,
                                 Neighbours<kTaps>& to) {
  const Floats zero(0.0);
  const Truth valid = within(at, axis.size);
  const Ints index = __builtin_convertvector(select(valid, at, zero).v, Ints);
  to.at[k] = (index * static_cast<int32_t>(axis.stride)) | ~valid.m;
  to.weight[k] = select(valid, weight, zero).v;
}

// Third-degree weights of a point `x`, of 0 to 1 or of 1 to 2, away.
constexpr double kCubic = -0.75;
TIERUP_INLINE Floats near_weight(Floats x) {
  return ((Floats(kCubic + 2) * x - Floats(kCubic + 3)) * x) * x + Floats(1.0);
}
TIERUP_INLINE Floats far_weight(Floats x) {
  return ((Floats(kCubic) * x - Floats(5 * kCubic)) * x + Floats(8 * kCubic)) * x -
         Floats(4 * kCubic);
}

// Returns where the neighbours lie in the image and side by side.
template <int kTaps>
TIERUP_INLINE Truth find_neighbours(const Axis& axis, Floats position, Neighbours<kTaps>& to) {
  const Floats one(1.0);
  const Floats x = unnormalize(position, axis);
  if constexpr (kTaps == 1) {
    const Floats at = round_even(padded(x, axis));
    set_neighbour(axis, 0, at, one, to);
    return within(at, axis.size);
  } else if constexpr (kTaps == 2) {
    const Floats place = padded(x, axis);
    const Floats low = floor(place);
    const Floats part = place - low;
    set_neighbour(axis, 0, low, one - part, to);
    set_neighbour(axis, 1, low + one, part, to);
    return within(low, axis.size - 1);
  } else {
    static_assert(kTaps == 4);
    const Floats low = floor(x);
    const Floats part = x - low;
    const Floats weight[4] = {far_weight(part + one), near_weight(part), near_weight(one - part),
                              far_weight(Floats(2.0) - part)};
    for (int k = 0; k < kTaps; ++k)
      set_neighbour(axis, k, padded(low + lanes_of(k - 1), axis), weight[k], to);
    return within(low - one, axis.size - 3);
  }
}

// Lanes of grids lie as pairs of x and y; missing ones are zeros.
TIERUP_INLINE void load_pairs(const float* grid, int64_t count, Floats& x, Floats& y) {
  const FloatVector first = load_columns(grid, 2 * count);
  const int64_t more = 2 * count - kLanes;
  part_pairs(first, more > 0 ? load_columns(grid + kLanes, more) : FloatVector{}, x.v, y.v);
}

template <int kTaps>
void find_groups(const GridImage& image, const float* grid, int64_t count, void* groups) {
  const Axis columns{image.width, 1, image.padding, image.align_corners, image.in_pixels};
  const Axis lines{image.height, image.width, image.padding, image.align_corners, image.in_pixels};
  auto* group = static_cast<Group<kTaps>*>(groups);
  for (int64_t i = 0; i < count; i += kLanes, ++group) {
    Floats x;
    Floats y;
    load_pairs(grid + 2 * i, count - i, x, y);
    const Truth inside =
        find_neighbours(columns, x, group->columns) & find_neighbours(lines, y, group->lines);
    group->is_inside = !any(!inside);
  }
}

// Quads j, j + 4 and so on, one after another.
template <typename QuadOf>
TIERUP_INLINE FloatVector join_quads(const QuadOf& quad_of, int j) {
#if TIERUP_VECTOR_BYTES == 16
  return quad_of(j);
#else
#define TIERUP_TWO_QUADS(a, b) \
  __builtin_shufflevector(quad_of(a), quad_of(b), 0, 1, 2, 3, 4, 5, 6, 7)
  const auto low = TIERUP_TWO_QUADS(j, j + 4);
#if TIERUP_VECTOR_BYTES == 32
  return low;
#else
  const auto high = TIERUP_TWO_QUADS(j + 8, j + 12);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
#undef TIERUP_TWO_QUADS
#endif
}

// Numbers of a plane, zero where `outside` is negative: read one by one, which processors whose
// gathering instruction is slow do in half its time, others in about as much.
TIERUP_INLINE Floats gather(const float* plane, Ints index, Ints outside) {
  const Ints is_inside = outside >= 0;
  const Ints safe = index & is_inside;
  alignas(sizeof(Ints)) int32_t at[kLanes];
  __builtin_memcpy(at, &safe, sizeof(safe));
  const auto quad_of = [&](int i) TIERUP_LAMBDA {
    return Quad{plane[at[i]], plane[at[i + 1]], plane[at[i + 2]], plane[at[i + 3]]};
  };
  return Floats::from_bits(Floats(join_quads(quad_of, 0)).bits() & is_inside);
}

template <int kTaps>
TIERUP_INLINE Floats sample_any(const float* plane, const Group<kTaps>& group) {
  Floats sum(0.0);
  for (int line = 0; line < kTaps; ++line) {
    Floats part(0.0);
    for (int column = 0; column < kTaps; ++column) {
      const Ints x = group.columns.at[column];
      const Ints y = group.lines.at[line];
      part = part + gather(plane, x + y, x | y) * Floats(group.columns.weight[column]);
    }
    sum = sum + part * Floats(group.lines.weight[line]);
  }
  return sum;
}

TIERUP_INLINE Quad load_quad(const float* from) {
  Quad quad;
  __builtin_memcpy(&quad, from, sizeof(quad));
  return quad;
}

// Two neighbours here and two there.
TIERUP_INLINE Quad load_two_pairs(const float* here, const float* there) {
  double pairs[2];  // Of floats, each moved at once.
  __builtin_memcpy(&pairs[0], here, sizeof(double));
  __builtin_memcpy(&pairs[1], there, sizeof(double));
  typedef double Pairs __attribute__((vector_size(16)));
  return (Quad)Pairs{pairs[0], pairs[1]};
}

// Vector k of the result holds number k of each point's quad.
template <typename QuadOf>
TIERUP_INLINE void transpose_points(const QuadOf& quad_of, FloatVector (&to)[4]) {
  FloatVector rows[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) rows[j] = join_quads(quad_of, j);
  transpose_quads(rows, to, 1);
}

// Where all neighbours lie in the image, side by side.
template <int kTaps>
TIERUP_INLINE Floats sample_inside(const float* plane, int64_t width, const Group<kTaps>& group) {
  const Ints first = group.columns.at[0] + group.lines.at[0];
  alignas(sizeof(Ints)) int32_t at[kLanes];
  __builtin_memcpy(at, &first, sizeof(first));
  Floats sum(0.0);
  FloatVector points[4];
  if constexpr (kTaps == 2) {
    transpose_points(
        [&](int i) TIERUP_LAMBDA { return load_two_pairs(plane + at[i], plane + at[i] + width); },
        points);
    for (int line = 0; line < 2; ++line) {
      const Floats part = Floats(points[2 * line]) * Floats(group.columns.weight[0]) +
                          Floats(points[2 * line + 1]) * Floats(group.columns.weight[1]);
      sum = sum + part * Floats(group.lines.weight[line]);
    }
  } else {
    for (int line = 0; line < 4; ++line) {
      const float* from = plane + line * width;
      transpose_points([&](int i) TIERUP_LAMBDA { return load_quad(from + at[i]); }, points);
      Floats part(0.0);
      for (int column = 0; column < 4; ++column)
        part = part + Floats(points[column]) * Floats(group.columns.weight[column]);
      sum = sum + part * Floats(group.lines.weight[line]);
    }
  }
  return sum;
}

template <int kTaps>
void sample_groups(const GridImage& image, const float* plane, const void* groups, int64_t count,
                   float* out) {
  const auto* group = static_cast<const Group<kTaps>*>(groups);
  for (int64_t i = 0; i < count; i += kLanes, ++group) {
    Floats sum;
    if constexpr (kTaps == 1) {
      sum = sample_any(plane, *group);
    } else {
      sum =
          group->is_inside ? sample_inside(plane, image.width, *group) : sample_any(plane, *group);
    }
    store_columns(out + i, count - i, sum.v);
  }
}

template <int kTaps>
constexpr GridLoops kLoops{kLanes, sizeof(Group<kTaps>), &find_groups<kTaps>,
                           &sample_groups<kTaps>};
constexpr GridLoopsByMode kLoopsByMode{kLoops<2>, kLoops<1>, kLoops<4>};

}  // namespace
}  // namespace tierup::kernels::TIERUP_SIMD
