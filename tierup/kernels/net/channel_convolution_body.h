// One line of a convolution of channels; see channel_convolution.h. Compiled once per instruction
// set.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/channel_convolution.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels::net {
namespace {

// Sums of sixteen channels that registers hold beside a weight. There are to be as many as the
// multipliers' latency needs to be filled.
#if defined(__AVX512F__)
constexpr int kMostSums = 12;
#elif defined(__AVX2__)
constexpr int kMostSums = 6;
#else
constexpr int kMostSums = 2;
#endif

struct Taps {
  int64_t first, last;
};

// Those of a window of `kernel` points that lie inside: 0 <= at + i * dilation < size.
inline Taps taps_inside(int64_t at, int64_t dilation, int64_t kernel, int64_t size) {
  const int64_t first = at < 0 ? std::min((-at + dilation - 1) / dilation, kernel) : 0;
  const int64_t end = at < size ? (size - at + dilation - 1) / dilation : 0;
  return {first, std::clamp(end, first, kernel)};
}

class ChannelLineRunner {
 public:
  explicit ChannelLineRunner(const ChannelLine& line)
      : line_(line),
        g_(*line.geometry),
        channels_(g_.out_channels),
        front_(line.depth * g_.stride[0] - g_.padding[0]),
        top_(line.line * g_.stride[1] - g_.padding[1]),
        depths_(taps_inside(front_, g_.dilation[0], g_.kernel[0], g_.in[0])),
        rows_(taps_inside(top_, g_.dilation[1], g_.kernel[1], g_.in[1])) {}

  void run() {
    for (int64_t x = line_.first_point; x < line_.last_point;) {
      const int64_t whole = whole_windows(x);
      if (whole == 0) {
        edge(x++);
        continue;
      }
      x += points<kMostSums>(x, whole);
    }
  }

 private:
  int64_t left(int64_t x) const { return x * g_.stride[2] - g_.padding[2]; }

  // Points from x on whose windows are not cut along the line.
  int64_t whole_windows(int64_t x) const {
    const int64_t window = g_.dilation[2] * (g_.kernel[2] - 1) + 1;
    const int64_t room = g_.in[2] - window - left(x);
    if (left(x) < 0 || room < 0) return 0;
    return std::min(line_.last_point - x, room / g_.stride[2] + 1);
  }

  // As many points at once as there are; returns how many.
  template <int kPoints>
  int64_t points(int64_t x, int64_t available) const {
    if constexpr (kPoints > 1) {
      if (available < kPoints) return points<kPoints / 2>(x, available);
    }
    const Taps columns{0, g_.kernel[2]};
    int64_t c = 0;
    for (; c + kLanes <= channels_; c += kLanes)
      sum<kPoints, 1>(x, c, columns, [](const float* from) TIERUP_INLINED { return load(from); });
    const int64_t rest = channels_ - c;
    if (rest > 0) {
      sum<kPoints, 1>(
          x, c, columns,
          [rest](const float* from) TIERUP_INLINED { return load_some(from, rest, 0); }, rest);
    }
    return kPoints;
  }

  // One point whose window is cut.
  void edge(int64_t x) const {
    const Taps columns = taps_inside(left(x), g_.dilation[2], g_.kernel[2], g_.in[2]);
    const auto whole = [](const float* from) TIERUP_INLINED { return load(from); };
    int64_t c = 0;
    for (; c + kMostSums * kLanes <= channels_; c += kMostSums * kLanes)
      sum<1, kMostSums>(x, c, columns, whole);
    for (; c + kLanes <= channels_; c += kLanes) sum<1, 1>(x, c, columns, whole);
    const int64_t rest = channels_ - c;
    if (rest == 0) return;
    sum<1, 1>(
        x, c, columns,
        [rest](const float* from) TIERUP_INLINED { return load_some(from, rest, 0); }, rest);
  }

  // Adds what the window has in one row of the input.
  template <int kPoints, int kBlocks, typename Load>
  TIERUP_INLINE void add_row(const float* from, const float* weights, const Taps& columns,
                             const Load& load_from, Lanes* sums) const {
    const int64_t next = g_.stride[2] * channels_;
    for (int64_t kx = columns.first; kx < columns.last; ++kx) {
      const float* point = from + kx * g_.dilation[2] * channels_;
      const float* weight = weights + kx * channels_;
      for_each<kBlocks>([&](auto b) TIERUP_INLINED {
        const Lanes factor = load_from(weight + b * kLanes);
        for_each<kPoints>([&](auto p) TIERUP_INLINED {
          const Lanes number = load_from(point + p * next + b * kLanes);
          Lanes& total = sums[p * kBlocks + b];
          total = each_part([&](auto i) TIERUP_INLINED {
            return multiply_add(number.part[i], factor.part[i], total.part[i]);
          });
        });
      });
    }
  }

  // Of so many points from x on, and so many times sixteen channels from c on.
  template <int kPoints, int kBlocks, typename Load>
  TIERUP_INLINE void sum(int64_t x, int64_t c, const Taps& columns, const Load& load_from,
                         int64_t width = kLanes) const {
    Lanes sums[kPoints * kBlocks];
    for_each<kPoints * kBlocks>([&](auto i) TIERUP_INLINED { sums[i] = broadcast(0); });
    for (int64_t kz = depths_.first; kz < depths_.last; ++kz) {
      const int64_t plane = (front_ + kz * g_.dilation[0]) * g_.in[1];
      for (int64_t ky = rows_.first; ky < rows_.last; ++ky) {
        const int64_t row = plane + top_ + ky * g_.dilation[1];
        const float* from = line_.image + (row * g_.in[2] + left(x)) * channels_ + c;
        const float* weights =
            line_.weights + (kz * g_.kernel[1] + ky) * g_.kernel[2] * channels_ + c;
        add_row<kPoints, kBlocks>(from, weights, columns, load_from, sums);
      }
    }
    float* target = line_.target + (x - line_.first_point) * channels_ + c;
    for_each<kPoints>([&](auto p) TIERUP_INLINED {
      for_each<kBlocks>([&](auto b) TIERUP_INLINED {
        const Lanes result = sums[p * kBlocks + b] + load_from(line_.bias + c + b * kLanes);
        float* to = target + p * channels_ + b * kLanes;
        if (width == kLanes) {
          store(to, result);
        } else {
          store_some(to, result, width);
        }
      });
    });
  }

  const ChannelLine& line_;
  const ConvGeometry& g_;
  const int64_t channels_;
  const int64_t front_, top_;
  const Taps depths_, rows_;
};

void run_channel_line(const ChannelLine& line) { ChannelLineRunner(line).run(); }

}  // namespace
}  // namespace tierup::kernels::net
