// Loops over tensors whose channels lie innermost: [batch, points, channels].
#pragma once

#include <cstdint>

namespace tierup::kernels::net {

// The mean over points: [batch, channels].
void mean_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* mean);
// The largest over points: [batch, channels]. A NaN raises the flag of invalid operations.
void largest_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                       float* largest);
// y = x * factors[batch, channels]; y may be x.
void scale_channels(const float* x, const float* factors, int64_t batch, int64_t points,
                    int64_t channels, float* y);

// The bodies, per instruction set.
struct ChannelLoops {
  // Sums of `count` channels over points that lie `stride` apart, times `factor`.
  void (*sums)(const float* x, int64_t points, int64_t stride, int64_t count, float factor,
               float* sums);
  // The largest of each of `count` channels over points that lie `stride` apart.
  void (*largest)(const float* x, int64_t points, int64_t stride, int64_t count, float* largest);
  // y = x * factors, of `count` channels.
  void (*scale)(const float* x, const float* factors, int64_t count, float* y);
};
ChannelLoops channel_loops_base();
ChannelLoops channel_loops_avx2();
ChannelLoops channel_loops_avx512();

}  // namespace tierup::kernels::net
