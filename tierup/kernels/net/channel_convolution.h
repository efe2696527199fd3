// Convolution of each channel on its own, over channels that lie innermost.
//
// A vector holds some channels of one point, so that windows move over points and nothing is turned
// round, whatever the window's size. Some points of a line stay in registers over the whole window;
// at a line's ends, where windows are cut, some channels of one point do. oneDNN has a kernel of
// its own for small windows of lines and planes only: it gathers others for products of one column,
// and of volumes it multiplies sixteen channels with one another, all but one of them by nought.
#pragma once

#include <cstdint>

#include "tierup/kernels/convolution/convolution_geometry.h"

namespace tierup::kernels::net {

// Whether convolve_channels takes this geometry: not transposed, each channel from its own.
bool can_convolve_channels(const ConvGeometry& g);

// Of the packed weights, in floats: [window][channels].
int64_t channel_weight_count(const ConvGeometry& g);
// `weight`: [channels, window], dense.
void pack_channel_weight(const ConvGeometry& g, const float* weight, float* packed);

// So many points of the result from `first` on, counted over lines, depths and images, in this
// thread.
// `source` and `target`, which is the first point's, have their channels innermost. Products are
// summed in the order of the window; the bias is added at last.
void convolve_channels(const ConvGeometry& g, const float* source, const float* weights,
                       const float* bias, int64_t first, int64_t count, float* target);

// Points of one line, per instruction set.
struct ChannelLine {
  const ConvGeometry* geometry;
  const float* image;
  const float* weights;
  const float* bias;
  int64_t depth, line;              // Of the result.
  int64_t first_point, last_point;  // Of that line.
  float* target;                    // Of the first point.
};
using ChannelLineFn = void (*)(const ChannelLine& line);
ChannelLineFn channel_line_base();
ChannelLineFn channel_line_avx2();
ChannelLineFn channel_line_avx512();

}  // namespace tierup::kernels::net
