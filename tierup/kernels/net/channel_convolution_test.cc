#include "tierup/kernels/net/channel_convolution.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tierup/kernels/net/convolution_fixture.h"
#include "tierup/kernels/simd/instruction_set_fixture.h"

namespace tierup::kernels::net {
namespace {

struct Sides {
  int64_t in, out, kernel, stride, dilation, padding;
};

ConvGeometry volume_geometry(int64_t batch, int64_t channels, const Sides& z, const Sides& y,
                             const Sides& x) {
  ConvGeometry g;
  g.rank = 3;
  g.batch = batch;
  g.groups = g.in_channels = g.out_channels = channels;
  g.in = {z.in, y.in, x.in};
  g.out = {z.out, y.out, x.out};
  g.kernel = {z.kernel, y.kernel, x.kernel};
  g.stride = {z.stride, y.stride, x.stride};
  g.dilation = {z.dilation, y.dilation, x.dilation};
  g.padding = {z.padding, y.padding, x.padding};
  return g;
}

ConvGeometry geometry(int64_t batch, int64_t channels, const Sides& y, const Sides& x) {
  ConvGeometry g = volume_geometry(batch, channels, {1, 1, 1, 1, 1, 0}, y, x);
  g.rank = 2;
  return g;
}

// The sum over one channel's window, in double.
double window_sum(const ConvGeometry& g, const std::vector<float>& source,
                  const std::vector<float>& weight, int64_t point, int64_t channel) {
  double sum = 0;
  const int64_t image = point / g.out_points();
  const std::array<int64_t, 3> at{point / g.out[2] / g.out[1] % g.out[0],
                                  point / g.out[2] % g.out[1], point % g.out[2]};
  for (int64_t k = 0; k < g.kernel_points(); ++k) {
    const std::array<int64_t, 3> tap{k / g.kernel[2] / g.kernel[1], k / g.kernel[2] % g.kernel[1],
                                     k % g.kernel[2]};
    int64_t from = image;
    bool is_inside = true;
    for (size_t d = 0; d < 3; ++d) {
      const int64_t place = at[d] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
      is_inside = is_inside && place >= 0 && place < g.in[d];
      from = from * g.in[d] + place;
    }
    if (!is_inside) continue;
    sum += static_cast<double>(source[static_cast<size_t>(from * g.in_channels + channel)]) *
           weight[static_cast<size_t>(channel * g.kernel_points() + k)];
  }
  return sum;
}

class ChannelConvolutionOn : public OnInstructionSet {};

TEST_P(ChannelConvolutionOn, GivesWhatWindowsGiveAndWritesNothingElse) {
  const Sides one{1, 1, 1, 1, 1, 0};
  const std::vector<ConvGeometry> geometries{
      geometry(1, 176, one, {60, 60, 31, 1, 1, 15}),
      geometry(2, 16, {7, 7, 7, 1, 1, 3}, {7, 7, 7, 1, 1, 3}),
      geometry(1, 35, {9, 4, 3, 2, 1, 0}, {40, 20, 5, 2, 1, 2}),
      geometry(1, 5, {12, 12, 3, 1, 4, 4}, {50, 50, 3, 1, 4, 4}),
      geometry(1, 100, {3, 3, 31, 1, 1, 15}, {29, 29, 31, 1, 1, 15}),
      geometry(3, 32, one, {33, 33, 4, 1, 1, 3}),
      // Windows that lie outside.
      geometry(1, 17, {2, 6, 2, 1, 1, 3}, {4, 10, 3, 2, 1, 8}),
      geometry(1, 1, one, {1, 1, 1, 1, 1, 0}),
      volume_geometry(2, 21, {5, 5, 3, 1, 1, 1}, {9, 5, 3, 2, 1, 1}, {11, 6, 3, 2, 1, 1}),
      volume_geometry(1, 16, {7, 4, 3, 2, 2, 2}, {4, 4, 1, 1, 1, 0}, {13, 13, 5, 1, 1, 2}),
      volume_geometry(1, 3, {2, 7, 2, 1, 1, 3}, {3, 3, 3, 1, 1, 1}, {5, 5, 3, 1, 1, 1}),
  };
  for (const ConvGeometry& g : geometries) {
    const int64_t points = g.batch * g.out_points();
    const std::vector<float> source = numbers(g.batch * g.in_points() * g.in_channels, 1);
    const std::vector<float> weight = numbers(g.weights(), 2);
    const std::vector<float> bias = numbers(g.out_channels, 3);
    std::vector<float> packed(static_cast<size_t>(channel_weight_count(g)));
    pack_channel_weight(g, weight.data(), packed.data());
    for (const int64_t first : {int64_t{0}, points / 3}) {
      std::vector<float> target(static_cast<size_t>((points - first) * g.out_channels + 1), 77);
      convolve_channels(g, source.data(), packed.data(), bias.data(), first, points - first,
                        target.data());
      EXPECT_EQ(target.back(), 77);
      for (int64_t i = 0; i < (points - first) * g.out_channels; ++i) {
        const int64_t channel = i % g.out_channels;
        const double wanted = window_sum(g, source, weight, first + i / g.out_channels, channel) +
                              bias[static_cast<size_t>(channel)];
        ASSERT_NEAR(target[static_cast<size_t>(i)], wanted, 1e-4) << i << " of " << g.in_channels;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ChannelConvolutionOn,
                         ::testing::Values(InstructionSet::kBase, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512));

}  // namespace
}  // namespace tierup::kernels::net
