// One part of a Winograd convolution; see winograd.h. Compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/few_tiles_body.h"
#include "tierup/kernels/net/panel_body.h"
#include "tierup/kernels/net/winograd_transforms_body.h"

namespace tierup::kernels::net {
namespace {

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

  void multiply(int64_t channel, bool is_first_block) {
    const int64_t depth = std::min<int64_t>(kDepth, p_.in_channels - channel);
    for (int64_t t = 0; t < count_; ++t) transform_tile(t, channel, depth);
    for (int64_t column = 0; column < columns_; column += kWinogradPanel) {
      const auto width = static_cast<int>(panel_width(kWinogradPanel, channels_, column));
      float* weights = weights_;
      if (block_.keeps_weights)
        weights += kPoints *
                   (channel / kDepth * (columns_ / kWinogradPanel) + column / kWinogradPanel) *
                   kWeightStep;
      if (is_first_block || !block_.keeps_weights)
        transform_weights(channel, depth, column, width, weights);
      PanelProduct product{};
      product.ahead = reinterpret_cast<const char*>(next_weights(channel, depth, column));
      product.ahead_bytes = block_.keeps_weights ? 0 : depth * 9 * kWinogradPanel * 4 / kPoints;
      product.rows = count_;
      product.depth = depth;
      product.width = width;
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
    const float* points[kPoints];
    gather_points<kTile>(part_, place_of<kTile>(p_, first_ + t), channel, zeros_, points);
    float* to = inputs_ + t * kDepth;
    const auto transform = [&](int64_t c, const auto& load) TIERUP_INLINED {
      transform_window<kSide, kSide>(
          [&](int i, int j) TIERUP_INLINED { return load(points[i * kSide + j] + c); },
          [](const auto& d, auto& v) TIERUP_INLINED { Transforms<kTile>::input(d, v); },
          [&](int i, int j, LaneVector v)
              TIERUP_INLINED { store_vector(to + (i * kSide + j) * input_step_ + c, v); });
    };
    each_vector(depth, transform);
  }

  // The first `width` of a panel's columns.
  void transform_weights(int64_t channel, int64_t depth, int64_t column, int width, float* to) {
    const float* from = given_weights(channel, column);
    for (int64_t k = 0; k < depth; ++k, from += 9 * kWinogradPanel, to += width) {
      for (int c = 0; c < width; c += kVectorFloats) {
        transform_window<3, kSide>(
            [&](int i, int j)
                TIERUP_INLINED { return load_vector(from + (i * 3 + j) * kWinogradPanel + c); },
            [](const auto& g, auto& u) TIERUP_INLINED { Transforms<kTile>::weight(g, u); },
            [&](int i, int j, LaneVector u)
                TIERUP_INLINED { store_vector(to + (i * kSide + j) * kWeightStep + c, u); });
      }
    }
  }

  void store_tile(int64_t t) {
    const TilePlace place = place_of<kTile>(p_, first_ + t);
    const float* from = products_ + t * columns_;
    for (int64_t c = 0; c < channels_; c += kVectorFloats) {
      store_results<kTile>(part_, place, part_.first_channel + c, [&](int i, int j) TIERUP_INLINED {
        return load_vector(from + (i * kSide + j) * product_step_ + c);
      });
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
  if (part.problem->in_registers) {
    FewTilesRunner(part).run();
  } else if (part.problem->tile == 2) {
    PartRunner<2>(part).run();
  } else {
    PartRunner<4>(part).run();
  }
}

}  // namespace
}  // namespace tierup::kernels::net
