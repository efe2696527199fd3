// Loops over tensors whose channels lie innermost: [batch, points, channels].
#pragma once

#include <cstdint>

#include "tierup/kernels/pooling/pooling_window.h"

namespace tierup::kernels::net {

// The sum over points: [batch, channels]; the mean.
void sum_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* sum);
void mean_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* mean);
// The mean of squares.
void mean_square_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                           float* mean);
// The root of the sum of squares.
void norm_of_points(const float* x, int64_t batch, int64_t points, int64_t channels, float* norm);
// The largest over points: [batch, channels]. A NaN raises the flag of invalid operations.
void largest_of_points(const float* x, int64_t batch, int64_t points, int64_t channels,
                       float* largest);

// The largest in each window of the images x [batch, in, channels]: [batch, out, channels]. No
// window is dilated, or lies outside. A NaN raises the flag of invalid operations.
void largest_of_windows(const PoolWindow& window, const float* x, int64_t batch, int64_t channels,
                        float* largest);

// Norms over groups of channels. Pieces of the points have moments of their own, which are joined:
// the sums are the same for any number of threads.
struct GroupNorm {
  int64_t batch, points, channels, groups;
  float eps;
  int64_t piece_points() const;
  int64_t pieces() const { return (points + piece_points() - 1) / piece_points(); }
  // Floats of scratch for group_norm_factors().
  int64_t scratch() const { return 2 * batch * (pieces() + 1) * channels; }
};
// Each channel's factor and summand [batch, 2, channels], at the scratch's end.
const float* group_norm_factors(const GroupNorm& norm, const float* x, const float* gamma,
                                const float* beta, float* scratch);

// Points of a window, so many along each axis, so many floats apart.
struct WindowPoints {
  const float* first;
  int64_t counts[3];
  int64_t strides[3];
};

// The bodies, per instruction set.
struct ChannelLoops {
  // Sums of `count` channels over points that lie `stride` apart, times `factor`.
  void (*sums)(const float* x, int64_t points, int64_t stride, int64_t count, float factor,
               float* sums);
  // The same of squares.
  void (*squares)(const float* x, int64_t points, int64_t stride, int64_t count, float factor,
                  float* sums);
  // The largest of each of `count` channels over the points of a window.
  void (*largest_of_window)(const WindowPoints& window, int64_t count, float* largest);
  // y = x * factors, of `count` channels.
  void (*scale)(const float* x, const float* factors, int64_t count, float* y);
  // Of so many points of `channels` each: their means, and the sums of the squares of what is left.
  void (*moments)(const float* x, int64_t points, int64_t channels, float* means, float* squares);
  // y = x * scale + shift, for so many points.
  void (*affine)(const float* x, int64_t points, int64_t channels, const float* scale,
                 const float* shift, float* y);
  // y = x * slopes below zero, else x, for so many points.
  void (*prelu)(const float* x, int64_t points, int64_t channels, const float* slopes, float* y);
  // y = a * first + b * second.
  void (*blend)(const float* a, const float* b, float first, float second, int64_t count, float* y);
  // Each point of y from two of x, by its entries of `index` and `weights`.
  void (*blend_points)(const float* x, const int64_t* index, const float* weights, int64_t points,
                       int64_t channels, float* y);
};
// Those of this processor.
ChannelLoops channel_loops();
ChannelLoops channel_loops_base();
ChannelLoops channel_loops_avx2();
ChannelLoops channel_loops_avx512();

}  // namespace tierup::kernels::net
