// The bodies of channel_loops.h; compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/channel_loops.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels::net {
namespace {

// Sums of what `change` makes of numbers, of zero as well. Four pieces of sixteen channels at a
// time stay in registers.
template <typename Change>
TIERUP_INLINE void channel_totals(const float* x, int64_t points, int64_t stride, int64_t count,
                                  float factor, float* sums, const Change& change) {
  const Lanes scale = broadcast(factor);
  int64_t c = 0;
  for (; c + 4 * kLanes <= count; c += 4 * kLanes) {
    Lanes total[4] = {broadcast(0), broadcast(0), broadcast(0), broadcast(0)};
    for (int64_t p = 0; p < points; ++p) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j)
        total[j] = total[j] + change(load(x + p * stride + c + j * kLanes));
    }
    for (int j = 0; j < 4; ++j) store(sums + c + j * kLanes, total[j] * scale);
  }
  for (; c < count; c += kLanes) {
    const int64_t width = std::min<int64_t>(kLanes, count - c);
    Lanes total = broadcast(0);
    for (int64_t p = 0; p < points; ++p) {
      const float* row = x + p * stride + c;
      total = total + change(width == kLanes ? load(row) : load_some(row, width, 0));
    }
    store_some(sums + c, total * scale, width);
  }
}

void channel_sums(const float* x, int64_t points, int64_t stride, int64_t count, float factor,
                  float* sums) {
  channel_totals(x, points, stride, count, factor, sums,
                 [](const Lanes& v) TIERUP_INLINED { return v; });
}
void channel_squares(const float* x, int64_t points, int64_t stride, int64_t count, float factor,
                     float* sums) {
  channel_totals(x, points, stride, count, factor, sums,
                 [](const Lanes& v) TIERUP_INLINED { return v * v; });
}

// Begins with the first point, not with a number below all others: there is none below -infinity.
// So many pieces of sixteen channels stay in registers, the last one may have fewer channels.
template <int kPieces>
TIERUP_INLINE void window_largest(const WindowPoints& w, int64_t c, int64_t last, float* largest) {
  const auto piece = [&](const float* x, int j) TIERUP_INLINED {
    return j + 1 < kPieces || last == kLanes ? load(x + j * kLanes) : load_some(x, last, 0);
  };
  Lanes found[kPieces];
  for_each<kPieces>([&](auto j) TIERUP_INLINED { found[j] = piece(w.first + c, j); });
  for (int64_t z = 0; z < w.counts[0]; ++z) {
    for (int64_t y = 0; y < w.counts[1]; ++y) {
      const float* from = w.first + c + z * w.strides[0] + y * w.strides[1];
      for (int64_t x = 0; x < w.counts[2]; ++x, from += w.strides[2]) {
        for_each<kPieces>([&](auto j)
                              TIERUP_INLINED { found[j] = larger(found[j], piece(from, j)); });
      }
    }
  }
  for_each<kPieces>([&](auto j) TIERUP_INLINED {
    if (j + 1 < kPieces || last == kLanes) return store(largest + c + j * kLanes, found[j]);
    store_some(largest + c, found[j], last);
  });
}

void channel_largest_of_window(const WindowPoints& w, int64_t count, float* largest) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= count; c += 4 * kLanes) window_largest<4>(w, c, kLanes, largest);
  for (; c < count; c += kLanes)
    window_largest<1>(w, c, std::min<int64_t>(kLanes, count - c), largest);
}

void channel_scale(const float* x, const float* factors, int64_t count, float* y) {
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) store(y + c, load(x + c) * load(factors + c));
  if (c < count) {
    store_some(y + c, load_some(x + c, count - c, 0) * load_some(factors + c, count - c, 0),
               count - c);
  }
}

// Calls use(first channel, how many) for pieces of at most kLanes channels.
template <typename Use>
TIERUP_INLINE void each_lanes(int64_t channels, const Use& use) {
  for (int64_t c = 0; c < channels; c += kLanes) use(c, std::min<int64_t>(kLanes, channels - c));
}
TIERUP_INLINE Lanes load_up_to(const float* x, int64_t count) {
  return count == kLanes ? load(x) : load_some(x, count, 0);
}
TIERUP_INLINE void store_up_to(float* y, const Lanes& lanes, int64_t count) {
  if (count == kLanes) return store(y, lanes);
  store_some(y, lanes, count);
}

// The sum of change(numbers of a point) over all points, of `count` channels from x on.
template <typename Change>
TIERUP_INLINE Lanes sum_over_points(const float* x, int64_t points, int64_t stride, int64_t count,
                                    const Change& change) {
  Lanes total[4] = {broadcast(0), broadcast(0), broadcast(0), broadcast(0)};
  int64_t p = 0;
  for (; p + 4 <= points; p += 4) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
      total[j] = total[j] + change(load_up_to(x + (p + j) * stride, count));
  }
  for (; p < points; ++p) total[0] = total[0] + change(load_up_to(x + p * stride, count));
  return (total[0] + total[1]) + (total[2] + total[3]);
}

// Of what is left without the first point, so that means that are large beside the deviations keep
// their last places.
void channel_moments(const float* x, int64_t points, int64_t channels, float* means,
                     float* squares) {
  const Lanes share = broadcast(1.0F / static_cast<float>(points));
  each_lanes(channels, [&](int64_t c, int64_t count) {
    const Lanes first = load_up_to(x + c, count);
    const Lanes rest = sum_over_points(x + c, points, channels, count,
                                       [&](const Lanes& v) TIERUP_INLINED { return v - first; });
    const Lanes mean = first + rest * share;
    store_up_to(means + c, mean, count);
    const auto square = [&](const Lanes& v) TIERUP_INLINED {
      const Lanes left = v - mean;
      return left * left;
    };
    store_up_to(squares + c, sum_over_points(x + c, points, channels, count, square), count);
  });
}

void channel_prelu(const float* x, int64_t points, int64_t channels, const float* slopes,
                   float* y) {
  each_lanes(channels, [&](int64_t c, int64_t count) {
    const Lanes slope = load_up_to(slopes + c, count);
    for (int64_t p = 0; p < points; ++p) {
      const int64_t at = p * channels + c;
      const Lanes v = load_up_to(x + at, count);
      const Lanes below = larger(broadcast(0) - v, broadcast(0));  // Of an infinity, too.
      store_up_to(y + at, larger(v, broadcast(0)) - slope * below, count);
    }
  });
}

void channel_affine(const float* x, int64_t points, int64_t channels, const float* scale,
                    const float* shift, float* y) {
  each_lanes(channels, [&](int64_t c, int64_t count) {
    const Lanes factor = load_up_to(scale + c, count);
    const Lanes summand = load_up_to(shift + c, count);
    for (int64_t p = 0; p < points; ++p) {
      const int64_t at = p * channels + c;
      store_up_to(y + at, load_up_to(x + at, count) * factor + summand, count);
    }
  });
}

void channel_blend(const float* a, const float* b, float first, float second, int64_t count,
                   float* y) {
  const Lanes v = broadcast(first);
  const Lanes w = broadcast(second);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(y + i, load(a + i) * v + load(b + i) * w);
  if (i == count) return;
  store_some(y + i, load_some(a + i, count - i, 0) * v + load_some(b + i, count - i, 0) * w,
             count - i);
}

void channel_blend_points(const float* x, const int64_t* index, const float* weights,
                          int64_t points, int64_t channels, float* y) {
  constexpr int64_t kFew = 4;  // Less than a vector of any instruction set.
  for (int64_t p = 0; p < points; ++p) {
    const float* a = x + index[2 * p] * channels;
    const float* b = x + index[2 * p + 1] * channels;
    if (channels >= kFew) {
      channel_blend(a, b, weights[2 * p], weights[2 * p + 1], channels, y + p * channels);
      continue;
    }
    for (int64_t c = 0; c < channels; ++c)
      y[p * channels + c] = a[c] * weights[2 * p] + b[c] * weights[2 * p + 1];
  }
}

constexpr ChannelLoops kChannelLoops{&channel_sums,  &channel_squares, &channel_largest_of_window,
                                     &channel_scale, &channel_moments, &channel_affine,
                                     &channel_prelu, &channel_blend,   &channel_blend_points};

}  // namespace
}  // namespace tierup::kernels::net
