// The transforms of Winograd's convolution, for windows of 3x3. Compiled once per instruction set.
//
// Points of the transforms: 0, 1, -1 and infinity for tiles of 2; 0, 3/4, -3/4, 3/2, -3/2 and
// infinity for tiles of 4, whose rounding errors are half of those of 0, 1, -1, 2, -2. Weights of
// tiles of 4 are left without their factors, which the far fewer products get. A window of one
// vector's channels at a time: what a transform keeps of two would not stay in 16 registers.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/store_step_body.h"
#include "tierup/kernels/net/winograd.h"
#include "tierup/kernels/simd/unrolled_body.h"

namespace tierup::kernels::net {
namespace {

TIERUP_INLINE LaneVector add_scaled(LaneVector a, float b, LaneVector c) {
  return multiply_add(a, b - LaneVector{}, c);
}

template <int kTile>
struct Transforms;

template <>
struct Transforms<2> {
  TIERUP_INLINED static void input(const LaneVector (&d)[4], LaneVector (&v)[4]) {
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
  }
  TIERUP_INLINED static void weight(const LaneVector (&g)[3], LaneVector (&u)[4]) {
    const LaneVector ends = (g[0] + g[2]) * 0.5F;
    const LaneVector middle = g[1] * 0.5F;
    u[0] = g[0];
    u[1] = ends + middle;
    u[2] = ends - middle;
    u[3] = g[2];
  }
  TIERUP_INLINED static void output(const LaneVector (&m)[4], LaneVector (&y)[2]) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
};

template <>
struct Transforms<4> {
  static constexpr float kP = 0.75F;
  static constexpr float kQ = 1.5F;
  static constexpr float kP2 = kP * kP;
  static constexpr float kQ2 = kQ * kQ;
  static constexpr float kAtZero = 1 / (kP2 * kQ2);
  static constexpr float kAtP = 1 / (2 * kP2 * (kP2 - kQ2));
  static constexpr float kAtQ = 1 / (2 * kQ2 * (kQ2 - kP2));

  TIERUP_INLINED static void input(const LaneVector (&d)[6], LaneVector (&v)[6]) {
    v[0] = add_scaled(d[0], kP2 * kQ2, add_scaled(d[2], -(kP2 + kQ2), d[4]));
    const LaneVector even_p = add_scaled(d[2], -kQ2, d[4]);
    const LaneVector odd_p = add_scaled(d[1], -kQ2, d[3]);
    v[1] = add_scaled(odd_p, kP, even_p);
    v[2] = add_scaled(odd_p, -kP, even_p);
    const LaneVector even_q = add_scaled(d[2], -kP2, d[4]);
    const LaneVector odd_q = add_scaled(d[1], -kP2, d[3]);
    v[3] = add_scaled(odd_q, kQ, even_q);
    v[4] = add_scaled(odd_q, -kQ, even_q);
    v[5] = add_scaled(d[1], kP2 * kQ2, add_scaled(d[3], -(kP2 + kQ2), d[5]));
  }
  TIERUP_INLINED static void weight(const LaneVector (&g)[3], LaneVector (&u)[6]) {
    u[0] = g[0];
    const LaneVector even_p = add_scaled(g[2], kP2, g[0]);
    u[1] = add_scaled(g[1], kP, even_p);
    u[2] = add_scaled(g[1], -kP, even_p);
    const LaneVector even_q = add_scaled(g[2], kQ2, g[0]);
    u[3] = add_scaled(g[1], kQ, even_q);
    u[4] = add_scaled(g[1], -kQ, even_q);
    u[5] = g[2];
  }
  TIERUP_INLINED static void output(const LaneVector (&m)[6], LaneVector (&y)[4]) {
    const LaneVector even_p = m[1] + m[2];
    const LaneVector odd_p = m[1] - m[2];
    const LaneVector even_q = m[3] + m[4];
    const LaneVector odd_q = m[3] - m[4];
    y[0] = add_scaled(even_q, kAtQ, add_scaled(even_p, kAtP, m[0] * kAtZero));
    y[1] = add_scaled(odd_q, kAtQ * kQ, odd_p * (kAtP * kP));
    y[2] = add_scaled(even_q, kAtQ * kQ2, even_p * (kAtP * kP2));
    y[3] = add_scaled(odd_q, kAtQ * kQ * kQ2, add_scaled(odd_p, kAtP * kP * kP2, m[5]));
  }
};

// Both dimensions of a kFrom x kFrom window, of which take(row, column) gives the numbers:
// give(row, column, result) gets kTo x kTo ones. `change`: one dimension's transform.
template <int kFrom, int kTo, typename Take, typename Change, typename Give>
TIERUP_INLINE void transform_window(const Take& take, const Change& change, const Give& give) {
  LaneVector half[kFrom][kTo];
  for_each<kFrom>([&](auto j) TIERUP_INLINED {
    LaneVector column[kFrom];
    for_each<kFrom>([&](auto i) TIERUP_INLINED { column[i] = take(i, j); });
    change(column, half[j]);
  });
  for_each<kTo>([&](auto i) TIERUP_INLINED {
    LaneVector row[kFrom];
    for_each<kFrom>([&](auto j) TIERUP_INLINED { row[j] = half[j][i]; });
    LaneVector result[kTo];
    change(row, result);
    for_each<kTo>([&](auto j) TIERUP_INLINED { give(i, j, result[j]); });
  });
}

// Calls transform(first, load) for each vector of so many channels; of the last one, `load` takes
// those that are there.
template <typename Transform>
TIERUP_INLINE void each_vector(int64_t channels, const Transform& transform) {
  int64_t c = 0;
  for (; c + kVectorFloats <= channels; c += kVectorFloats)
    transform(c, [](const float* from) TIERUP_INLINED { return load_vector(from); });
  if (c == channels) return;
  transform(c, [left = channels - c](const float* from)
                   TIERUP_INLINED { return load_columns(from, left); });
}

// Where a tile's first result stands.
struct TilePlace {
  int64_t image, row, column;
};

template <int kTile>
TilePlace place_of(const Winograd& p, int64_t tile) {
  const int64_t columns = p.tile_columns();
  const int64_t rows = p.tile_rows();
  return {tile / (columns * rows), tile / columns % rows * kTile, tile % columns * kTile};
}

// The points of the source that a tile reads, each of them from input channel `channel` on; `zeros`
// where it has none.
template <int kTile>
void gather_points(const WinogradPart& part, const TilePlace& place, int64_t channel,
                   const float* zeros, const float* (&points)[(kTile + 2) * (kTile + 2)]) {
  const Winograd& p = *part.problem;
  for (int i = 0; i < kTile + 2; ++i) {
    for (int j = 0; j < kTile + 2; ++j) {
      const int64_t y = place.row + i - p.pad_top;
      const int64_t x = place.column + j - p.pad_left;
      const bool is_inside = y >= 0 && y < p.height && x >= 0 && x < p.width;
      points[i * (kTile + 2) + j] =
          is_inside
              ? part.source + ((place.image * p.height + y) * p.width + x) * p.in_channels + channel
              : zeros;
    }
  }
}

template <typename Load>
LaneVector store_step(const StoreStep& step, LaneVector x, const float* target, const Load& load) {
  if (step.kind == StoreStep::Kind::kSum) return x + load(target);
  with_step(step, [&](const auto& change) { x = change(x); });
  return x;
}

// A tile's results for a vector of output channels, `channel` the first of them, from take(row,
// column). Beyond the last channel nothing is read or stored.
template <int kTile, typename Take>
TIERUP_INLINE void store_results(const WinogradPart& part, const TilePlace& place, int64_t channel,
                                 const Take& take) {
  const Winograd& p = *part.problem;
  const int64_t rows = std::min<int64_t>(kTile, p.out_height - place.row);
  const int64_t columns = std::min<int64_t>(kTile, p.out_width - place.column);
  float* target =
      part.target +
      ((place.image * p.out_height + place.row) * p.out_width + place.column) * p.out_channels +
      channel;
  LaneVector results[kTile][kTile];
  transform_window<kTile + 2, kTile>(
      take, [](const auto& m, auto& y) TIERUP_INLINED { Transforms<kTile>::output(m, y); },
      [&](int i, int j, const LaneVector& y) TIERUP_INLINED { results[i][j] = y; });
  const auto store_all = [&](const auto& load, const auto& store) TIERUP_INLINED {
    const LaneVector bias = load(part.bias + channel);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        float* to = target + (i * p.out_width + j) * p.out_channels;
        LaneVector result = results[i][j] + bias;
        for (const StoreStep& step : part.steps) result = store_step(step, result, to, load);
        store(to, result);
      }
    }
  };
  const int64_t channels = p.out_channels - channel;
  if (channels >= kVectorFloats)
    return store_all([](const float* from) TIERUP_INLINED { return load_vector(from); },
                     [](float* to, LaneVector x) TIERUP_INLINED { store_vector(to, x); });
  store_all([&](const float* from) TIERUP_INLINED { return load_columns(from, channels); },
            [&](float* to, LaneVector x) TIERUP_INLINED { store_columns(to, channels, x); });
}

}  // namespace
}  // namespace tierup::kernels::net
