// The bodies of channel_loops.h; compiled once per instruction set.
#pragma once

#include <algorithm>

#include "tierup/kernels/net/channel_loops.h"
#include "tierup/kernels/simd/lanes_body.h"

namespace tierup::kernels::net {
namespace {

// Four pieces of sixteen channels at a time stay in registers.
void channel_sums(const float* x, int64_t points, int64_t stride, int64_t count, float factor,
                  float* sums) {
  const Lanes scale = broadcast(factor);
  int64_t c = 0;
  for (; c + 4 * kLanes <= count; c += 4 * kLanes) {
    Lanes total[4] = {broadcast(0), broadcast(0), broadcast(0), broadcast(0)};
    for (int64_t p = 0; p < points; ++p) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) total[j] = total[j] + load(x + p * stride + c + j * kLanes);
    }
    for (int j = 0; j < 4; ++j) store(sums + c + j * kLanes, total[j] * scale);
  }
  for (; c < count; c += kLanes) {
    const int64_t width = std::min<int64_t>(kLanes, count - c);
    Lanes total = broadcast(0);
    for (int64_t p = 0; p < points; ++p) {
      const float* row = x + p * stride + c;
      total = total + (width == kLanes ? load(row) : load_some(row, width, 0));
    }
    store_some(sums + c, total * scale, width);
  }
}

void channel_largest(const float* x, int64_t points, int64_t stride, int64_t count,
                     float* largest) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= count; c += 4 * kLanes) {
    Lanes found[4];
    for (int j = 0; j < 4; ++j) found[j] = load(x + c + j * kLanes);
    for (int64_t p = 1; p < points; ++p) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j)
        found[j] = larger(found[j], load(x + p * stride + c + j * kLanes));
    }
    for (int j = 0; j < 4; ++j) store(largest + c + j * kLanes, found[j]);
  }
  for (; c < count; c += kLanes) {
    const int64_t width = std::min<int64_t>(kLanes, count - c);
    Lanes found = load_some(x + c, width, 0);
    for (int64_t p = 1; p < points; ++p)
      found = larger(found, load_some(x + p * stride + c, width, 0));
    store_some(largest + c, found, width);
  }
}

void channel_scale(const float* x, const float* factors, int64_t count, float* y) {
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) store(y + c, load(x + c) * load(factors + c));
  if (c < count) {
    store_some(y + c, load_some(x + c, count - c, 0) * load_some(factors + c, count - c, 0),
               count - c);
  }
}

constexpr ChannelLoops kChannelLoops{&channel_sums, &channel_largest, &channel_scale};

}  // namespace
}  // namespace tierup::kernels::net
