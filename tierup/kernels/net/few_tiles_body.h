// One part of a Winograd convolution by tiles of 4 whose weights are transformed in registers,
// right before they are multiplied; see winograd.h. Compiled once per instruction set.
//
// A row of points at a time: its six weights of an input and 16 output channels are made of 3 or 9
// given ones, and each is multiplied by the same point of some tiles. Sums stay in registers for
// kFewTilesDepth input channels, in the first-level cache for all of them.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/winograd_transforms_body.h"

namespace tierup::kernels::net {
namespace {

class FewTilesRunner {
 public:
  explicit FewTilesRunner(const WinogradPart& part)
      : part_(part),
        p_(*part.problem),
        chunks_((p_.in_channels + kFewTilesDepth - 1) / kFewTilesDepth) {}

  void run() {
    for (int64_t t = part_.first_tile; t < part_.last_tile; ++t) transform_tile(t);
    for (int64_t channel = part_.first_channel; channel < part_.last_channel; channel += kLanes) {
      for (int64_t first = part_.first_tile; first < part_.last_tile; first += kTogether)
        multiply(first, channel);
    }
  }

 private:
  using Transform = Transforms<4>;
  static constexpr int kSide = 6;
  static constexpr int kPoints = kSide * kSide;
#if defined(__AVX512F__)
  static constexpr int kTogether = kFewTiles;
#elif defined(__AVX2__)
  static constexpr int kTogether = 2;
#else
  static constexpr int kTogether = 1;
#endif
  static_assert(kFewTiles % kTogether == 0);
  // Of transformed inputs: [kTogether tiles][chunk][point][tile of them][kFewTilesDepth].
  static constexpr int64_t kPointStep = kTogether * kFewTilesDepth;
  static constexpr int64_t kChunkStep = kPoints * kPointStep;
  static constexpr int64_t kWeights = int64_t{9} * kLanes;  // Given ones of an input channel,
  static constexpr int64_t kAsked = kWeights / kSide;       // and a row's share of them.

  float* inputs_of(int64_t tile, int64_t chunk) const {
    const int64_t t = tile - part_.first_tile;
    return part_.scratch + (t / kTogether * chunks_ + chunk) * kChunkStep +
           t % kTogether * kFewTilesDepth;
  }

  void transform_tile(int64_t tile) {
    const float zeros[kLanes] = {};
    const TilePlace place = place_of<4>(p_, tile);
    for (int64_t channel = 0; channel < p_.in_channels; channel += kLanes) {
      const float* points[kPoints];
      gather_points<4>(part_, place, channel, zeros, points);
      float* to = inputs_of(tile, channel / kFewTilesDepth) + channel % kFewTilesDepth;
      const auto transform = [&](int64_t c, const auto& load) TIERUP_INLINED {
        transform_window<kSide, kSide>(
            [&](int i, int j) TIERUP_INLINED { return load(points[i * kSide + j] + c); },
            [](const auto& d, auto& v) TIERUP_INLINED { Transform::input(d, v); },
            [&](int i, int j, LaneVector v)
                TIERUP_INLINED { store_vector(to + (i * kSide + j) * kPointStep + c, v); });
      };
      each_vector(std::min<int64_t>(kLanes, p_.in_channels - channel), transform);
    }
  }

  // kTogether tiles from `first` on; those past the part's last one are made of what is there.
  void multiply(int64_t first, int64_t channel) {
    Lanes sums[kPoints][kTogether] = {};
    const float* weights = part_.weights + channel * p_.in_channels * 9;
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const int64_t depth = std::min(kFewTilesDepth, p_.in_channels - chunk * kFewTilesDepth);
      const float* inputs = inputs_of(first, chunk);
      const float* next = weights + depth * kWeights;
      for (int part = 0; part < kParts; ++part) {
        each_index(std::make_integer_sequence<int, kSide>(), [&](auto row) {
          multiply_row<row>(inputs + row * kSide * kPointStep, weights + part * kVectorFloats,
                            next + row * depth * kAsked, depth, part, &sums[row * kSide]);
        });
      }
      weights = next;
    }
    const int64_t count = std::min<int64_t>(kTogether, part_.last_tile - first);
    for (int64_t t = 0; t < count; ++t) {
      for (int part = 0; part < kParts && channel + part * kVectorFloats < p_.out_channels;
           ++part) {
        store_results<4>(part_, place_of<4>(p_, first + t), channel + part * kVectorFloats,
                         [&](int i, int j)
                             TIERUP_INLINED { return sums[i * kSide + j][t].part[part]; });
      }
    }
  }

  // A point and its square, kept in registers: the compiler would read such constants from memory,
  // beside more numbers than a processor reads in the time of the products.
  struct Point {
    LaneVector itself, square;
    explicit Point(float point)
        : itself(point - LaneVector{}), square(point * point - LaneVector{}) {
      keep_in_register(itself);
      keep_in_register(square);
    }
  };

  // `sums`: of the row's six points, vector `part` of each; `next`: the row's share of the weights
  // that come next.
  template <int kRow>
  __attribute__((noinline)) static void multiply_row(const float* inputs, const float* weights,
                                                     const float* next, int64_t depth, int part,
                                                     Lanes (*sums)[kTogether]) {
    LaneVector sum[kSide][kTogether];
    for_each<kSide>([&](auto j) TIERUP_INLINED {
      for_each<kTogether>([&](auto t) TIERUP_INLINED { sum[j][t] = sums[j][t].part[part]; });
    });
    constexpr bool kIsSmall = kRow < 3;
    const Point point(kIsSmall ? Transform::kP : Transform::kQ);
    for (int64_t k = 0; k < depth; ++k, weights += kWeights, next += kAsked, ++inputs) {
      __builtin_prefetch(next, 0, 2);
      __builtin_prefetch(next + kAsked / 3, 0, 2);  // A share is one and a half lines of the cache.
      const auto use = [&](int j, LaneVector weight) TIERUP_INLINED {
        for_each<kTogether>([&](auto t) TIERUP_INLINED {
          const LaneVector input = inputs[j * kPointStep + t * kFewTilesDepth] - LaneVector{};
          sum[j][t] = multiply_add(input, weight, sum[j][t]);
        });
      };
      LaneVector g[3];
      for_each<3>([&](auto j)
                      TIERUP_INLINED { g[j] = weight_of_row<kRow>(weights + j * kLanes, point); });
      use(0, g[0]);
      use(5, g[2]);
      const LaneVector near_even = multiply_add(g[2], point.square, g[0]);
      const LaneVector near_odd = g[1] * point.itself;
      use(kIsSmall ? 1 : 3, near_even + near_odd);
      use(kIsSmall ? 2 : 4, near_even - near_odd);
      constexpr float kOther = kIsSmall ? Transform::kQ : Transform::kP;
      const LaneVector far_even = multiply_add(g[2], kOther * kOther - LaneVector{}, g[0]);
      const LaneVector far_odd = g[1] * kOther;
      use(kIsSmall ? 3 : 1, far_even + far_odd);
      use(kIsSmall ? 4 : 2, far_even - far_odd);
    }
    for_each<kSide>([&](auto j) TIERUP_INLINED {
      for_each<kTogether>([&](auto t) TIERUP_INLINED { sums[j][t].part[part] = sum[j][t]; });
    });
  }

  // One column's three weights, of which the row of points takes one sum.
  template <int kRow>
  TIERUP_INLINED static LaneVector weight_of_row(const float* column, const Point& point) {
    constexpr int64_t kStep = int64_t{3} * kLanes;
    if constexpr (kRow == 0) {
      return load_vector(column);
    } else if constexpr (kRow == 5) {
      return load_vector(column + 2 * kStep);
    } else {
      const LaneVector even =
          multiply_add(load_vector(column + 2 * kStep), point.square, load_vector(column));
      const LaneVector odd = load_vector(column + kStep) * point.itself;
      return kRow % 2 == 1 ? even + odd : even - odd;
    }
  }

  const WinogradPart& part_;
  const Winograd& p_;
  const int64_t chunks_;
};

}  // namespace
}  // namespace tierup::kernels::net
