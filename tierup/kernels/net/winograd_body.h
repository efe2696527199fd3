// One part of a Winograd convolution; see winograd.h. Compiled once per instruction set.
//
// Points of the transforms: 0, 1, -1 and infinity for tiles of 2; 0, 3/4, -3/4, 3/2, -3/2 and
// infinity for tiles of 4, whose rounding errors are half of those of 0, 1, -1, 2, -2.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/panel_body.h"
#include "tierup/kernels/net/winograd.h"

namespace tierup::kernels::net {
namespace {

inline Lanes lanes_multiply_add(const Lanes& a, float b, const Lanes& c) {
  Lanes result;
  for (int i = 0; i < kParts; ++i)
    result.part[i] = multiply_add(a.part[i], b - LaneVector{}, c.part[i]);
  return result;
}

template <int kTile>
struct Transforms;

template <>
struct Transforms<2> {
  static void input(const Lanes* d, int step, Lanes* v, int v_step) {
    v[0] = d[0] - d[2 * step];
    v[v_step] = d[step] + d[2 * step];
    v[2 * v_step] = d[2 * step] - d[step];
    v[3 * v_step] = d[step] - d[3 * step];
  }
  static void weight(const Lanes* g, int step, Lanes* u, int u_step) {
    const Lanes half = broadcast(0.5F);
    const Lanes ends = (g[0] + g[2 * step]) * half;
    const Lanes middle = g[step] * half;
    u[0] = g[0];
    u[u_step] = ends + middle;
    u[2 * u_step] = ends - middle;
    u[3 * u_step] = g[2 * step];
  }
  static void output(const Lanes* m, int step, Lanes* y, int y_step) {
    y[0] = m[0] + m[step] + m[2 * step];
    y[y_step] = m[step] - m[2 * step] - m[3 * step];
  }
};

template <>
struct Transforms<4> {
  static constexpr float kP = 0.75F;
  static constexpr float kQ = 1.5F;
  static constexpr float kP2 = kP * kP;
  static constexpr float kQ2 = kQ * kQ;
  static constexpr float kAtP = 1 / (2 * kP2 * (kP2 - kQ2));
  static constexpr float kAtQ = 1 / (2 * kQ2 * (kQ2 - kP2));

  static void input(const Lanes* d, int step, Lanes* v, int v_step) {
    const auto ends = [&](int i) {
      const Lanes high = lanes_multiply_add(d[(i + 2) * step], -(kP2 + kQ2), d[(i + 4) * step]);
      return lanes_multiply_add(d[i * step], kP2 * kQ2, high);
    };
    v[0] = ends(0);
    v[5 * v_step] = ends(1);
    const auto pair = [&](float other, float point, int to) {
      const Lanes even = lanes_multiply_add(d[2 * step], -other, d[4 * step]);
      const Lanes odd = lanes_multiply_add(d[step], -other, d[3 * step]);
      v[to * v_step] = lanes_multiply_add(odd, point, even);
      v[(to + 1) * v_step] = lanes_multiply_add(odd, -point, even);
    };
    pair(kQ2, kP, 1);
    pair(kP2, kQ, 3);
  }
  static void weight(const Lanes* g, int step, Lanes* u, int u_step) {
    u[0] = g[0] * broadcast(1 / (kP2 * kQ2));
    const auto pair = [&](float factor, float point, int to) {
      const Lanes even =
          lanes_multiply_add(g[2 * step], factor * point * point, g[0] * broadcast(factor));
      u[to * u_step] = lanes_multiply_add(g[step], factor * point, even);
      u[(to + 1) * u_step] = lanes_multiply_add(g[step], -factor * point, even);
    };
    pair(kAtP, kP, 1);
    pair(kAtQ, kQ, 3);
    u[5 * u_step] = g[2 * step];
  }
  static void output(const Lanes* m, int step, Lanes* y, int y_step) {
    const Lanes even_p = m[step] + m[2 * step];
    const Lanes odd_p = m[step] - m[2 * step];
    const Lanes even_q = m[3 * step] + m[4 * step];
    const Lanes odd_q = m[3 * step] - m[4 * step];
    y[0] = m[0] + even_p + even_q;
    y[y_step] = lanes_multiply_add(odd_q, kQ, odd_p * broadcast(kP));
    y[2 * y_step] = lanes_multiply_add(even_q, kQ2, even_p * broadcast(kP2));
    y[3 * y_step] =
        lanes_multiply_add(odd_q, kQ * kQ2, lanes_multiply_add(odd_p, kP * kP2, m[5 * step]));
  }
};

inline Lanes store_step(const StoreStep& step, Lanes x, const float* target) {
  if (step.kind == StoreStep::Kind::kSum) return x + load(target);
  with_step(step, [&](const auto& change) {
    for (int i = 0; i < kParts; ++i) x.part[i] = change(x.part[i]);
  });
  return x;
}

template <int kTile>
class PartRunner {
 public:
  explicit PartRunner(const WinogradPart& part)
      : part_(part),
        p_(*part.problem),
        channels_(part.last_channel - part.first_channel),
        columns_((channels_ + kWinogradPanel - 1) / kWinogradPanel * kWinogradPanel),
        block_(winograd_block(p_, part.last_tile - part.first_tile, channels_)) {
    input_step_ = winograd_apart(block_.tiles * kDepth);
    product_step_ = winograd_apart(block_.tiles * columns_);
    inputs_ = part.scratch;
    products_ = inputs_ + kPoints * input_step_;
    weights_ = products_ + kPoints * product_step_;
  }

  void run() {
    std::fill_n(zeros_, kDepth, 0.0F);
    const int64_t tiles = part_.last_tile - part_.first_tile;
    const int64_t blocks = (tiles + block_.tiles - 1) / block_.tiles;
    for (int64_t i = 0; i < blocks; ++i) {
      first_ = part_.first_tile + tiles * i / blocks;
      count_ = part_.first_tile + tiles * (i + 1) / blocks - first_;
      for (int64_t channel = 0; channel < p_.in_channels; channel += kDepth)
        multiply(channel, i == 0);
      for (int64_t t = 0; t < count_; ++t) store_tile(t);
    }
  }

 private:
  static constexpr int kSide = kTile + 2;
  static constexpr int kPoints = kSide * kSide;
  static constexpr int64_t kDepth = kWinogradDepth;
  static constexpr int64_t kWeightStep = winograd_apart(kDepth * kWinogradPanel);

  struct Place {
    int64_t image, row, column;  // Of the tile's first result.
  };
  Place place_of(int64_t tile) const {
    const int64_t columns = p_.tile_columns();
    const int64_t rows = p_.tile_rows();
    return {tile / (columns * rows), tile / columns % rows * kTile, tile % columns * kTile};
  }

  void multiply(int64_t channel, bool is_first_block) {
    const int64_t depth = std::min<int64_t>(kDepth, p_.in_channels - channel);
    for (int64_t t = 0; t < count_; ++t) transform_tile(t, channel, depth);
    for (int64_t column = 0; column < columns_; column += kWinogradPanel) {
      float* weights = weights_;
      if (block_.keeps_weights)
        weights += kPoints *
                   (channel / kDepth * (columns_ / kWinogradPanel) + column / kWinogradPanel) *
                   kWeightStep;
      if (is_first_block || !block_.keeps_weights)
        transform_weights(channel, depth, column, weights);
      PanelProduct product{};
      product.ahead = reinterpret_cast<const char*>(next_weights(channel, depth, column));
      product.ahead_bytes = block_.keeps_weights ? 0 : depth * 9 * kWinogradPanel * 4 / kPoints;
      product.rows = count_;
      product.depth = depth;
      product.width = kWinogradPanel;
      product.sums_stride = product.c_stride = columns_;
      for (int point = 0; point < kPoints; ++point) {
        product.a = inputs_ + point * input_step_;
        product.b = weights + point * kWeightStep;
        product.c = products_ + point * product_step_ + column;
        product.sums = channel > 0 ? product.c : nullptr;
        multiply_panel<kDepth>(product);
        product.ahead += product.ahead_bytes;
      }
    }
  }

  const float* given_weights(int64_t channel, int64_t column) const {
    const int64_t panel = (part_.first_channel + column) / kWinogradPanel;
    return part_.weights + (panel * p_.in_channels + channel) * 9 * kWinogradPanel;
  }
  // What is transformed next.
  const float* next_weights(int64_t channel, int64_t depth, int64_t column) const {
    if (column + kWinogradPanel < columns_) return given_weights(channel, column + kWinogradPanel);
    return given_weights(channel + depth < p_.in_channels ? channel + depth : channel, 0);
  }

  void transform_tile(int64_t t, int64_t channel, int64_t depth) {
    const Place place = place_of(first_ + t);
    const float* points[kPoints];
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const int64_t y = place.row + i - p_.pad_top;
        const int64_t x = place.column + j - p_.pad_left;
        const bool is_inside = y >= 0 && y < p_.height && x >= 0 && x < p_.width;
        points[i * kSide + j] =
            is_inside
                ? part_.source + ((place.image * p_.height + y) * p_.width + x) * p_.in_channels +
                      channel
                : zeros_;
      }
    }
    float* to = inputs_ + t * kDepth;
    for (int64_t c = 0; c < depth; c += kLanes) {
      Lanes half[kPoints];
#pragma GCC unroll 6
      for (int j = 0; j < kSide; ++j) {
        Lanes column[kSide];
#pragma GCC unroll 6
        for (int i = 0; i < kSide; ++i) column[i] = load(points[i * kSide + j] + c);
        Transforms<kTile>::input(column, 1, half + j, kSide);
      }
#pragma GCC unroll 6
      for (int i = 0; i < kSide; ++i) {
        Lanes row[kSide];
        Transforms<kTile>::input(half + i * kSide, 1, row, 1);
#pragma GCC unroll 6
        for (int j = 0; j < kSide; ++j) store(to + (i * kSide + j) * input_step_ + c, row[j]);
      }
    }
  }

  void transform_weights(int64_t channel, int64_t depth, int64_t column, float* to) {
    const float* from = given_weights(channel, column);
    for (int64_t k = 0; k < depth; ++k, from += 9 * kWinogradPanel) {
      for (int c = 0; c < kWinogradPanel; c += kLanes) {
        Lanes half[3 * kSide];
#pragma GCC unroll 6
        for (int j = 0; j < 3; ++j) {
          Lanes g[3];
#pragma GCC unroll 6
          for (int i = 0; i < 3; ++i) g[i] = load(from + (i * 3 + j) * kWinogradPanel + c);
          Transforms<kTile>::weight(g, 1, half + j, 3);
        }
#pragma GCC unroll 6
        for (int i = 0; i < kSide; ++i) {
          Lanes row[kSide];
          Transforms<kTile>::weight(half + i * 3, 1, row, 1);
#pragma GCC unroll 6
          for (int j = 0; j < kSide; ++j)
            store(to + (i * kSide + j) * kWeightStep + k * kWinogradPanel + c, row[j]);
        }
      }
    }
  }

  void store_tile(int64_t t) {
    const Place place = place_of(first_ + t);
    const int64_t rows = std::min<int64_t>(kTile, p_.out_height - place.row);
    const int64_t columns = std::min<int64_t>(kTile, p_.out_width - place.column);
    float* target = part_.target +
                    ((place.image * p_.out_height + place.row) * p_.out_width + place.column) *
                        p_.out_channels +
                    part_.first_channel;
    const float* from = products_ + t * columns_;
    for (int64_t c = 0; c < channels_; c += kLanes) {
      Lanes half[kTile * kSide];
#pragma GCC unroll 6
      for (int j = 0; j < kSide; ++j) {
        Lanes column[kSide];
#pragma GCC unroll 6
        for (int i = 0; i < kSide; ++i)
          column[i] = load(from + (i * kSide + j) * product_step_ + c);
        Transforms<kTile>::output(column, 1, half + j, kSide);
      }
      const Lanes bias = load(part_.bias + part_.first_channel + c);
      for (int64_t i = 0; i < rows; ++i) {
        Lanes row[kTile];
        Transforms<kTile>::output(half + i * kSide, 1, row, 1);
        for (int64_t j = 0; j < columns; ++j) {
          float* place_of_result = target + (i * p_.out_width + j) * p_.out_channels + c;
          Lanes result = row[j] + bias;
          for (const StoreStep& step : part_.steps)
            result = store_step(step, result, place_of_result);
          store(place_of_result, result);
        }
      }
    }
  }

  const WinogradPart& part_;
  const Winograd& p_;
  const int64_t channels_;
  const int64_t columns_;  // Whole panels.
  const WinogradBlock block_;
  int64_t first_ = 0;  // Of the tiles at hand.
  int64_t count_ = 0;
  int64_t input_step_ = 0;  // From point to point.
  int64_t product_step_ = 0;
  float* inputs_;    // [point][tile][kDepth]
  float* products_;  // [point][tile][columns_]
  float* weights_;   // [point][channel][32], or all blocks of that kind.
  float zeros_[kDepth];
};

void run_part(const WinogradPart& part) {
  if (part.problem->tile == 2) {
    PartRunner<2>(part).run();
  } else {
    PartRunner<4>(part).run();
  }
}

}  // namespace
}  // namespace tierup::kernels::net
