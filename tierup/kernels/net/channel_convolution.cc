#include "tierup/kernels/net/channel_convolution.h"

#include <algorithm>

#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {

bool can_convolve_channels(const ConvGeometry& g) {
  return !g.transposed && g.groups == g.in_channels && g.groups == g.out_channels;
}

int64_t channel_weight_count(const ConvGeometry& g) { return g.weights(); }

void pack_channel_weight(const ConvGeometry& g, const float* weight, float* packed) {
  const int64_t window = g.kernel_points();
  for (int64_t k = 0; k < window; ++k) {
    for (int64_t c = 0; c < g.out_channels; ++c) *packed++ = weight[c * window + k];
  }
}

void convolve_channels(const ConvGeometry& g, const float* source, const float* weights,
                       const float* bias, int64_t first, int64_t count, float* target) {
  const ChannelLineFn run = TIERUP_VARIANT(instruction_set(), channel_line_base, channel_line_avx2,
                                           channel_line_avx512)();
  const int64_t width = g.out[2];
  for (int64_t end = first + count; first < end;) {
    ChannelLine part{};
    part.geometry = &g;
    const int64_t line = first / width;
    const int64_t depth = line / g.out[1];
    part.image = source + depth / g.out[0] * g.in_points() * g.in_channels;
    part.weights = weights;
    part.bias = bias;
    part.depth = depth % g.out[0];
    part.line = line % g.out[1];
    part.first_point = first % width;
    part.last_point = std::min(width, part.first_point + end - first);
    part.target = target;
    run(part);
    const int64_t done = part.last_point - part.first_point;
    first += done;
    target += done * g.out_channels;
  }
}

}  // namespace tierup::kernels::net
