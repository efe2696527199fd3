#include "tierup/kernels/net/convolution_forms.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tierup/kernels/net/convolution_fixture.h"

namespace tierup::kernels::net {
namespace {

ConvGeometry convolution(int64_t batch, int64_t channels, int64_t side) {
  ConvGeometry g;
  g.batch = batch;
  g.in_channels = channels;
  g.out_channels = channels;
  g.in = {1, side, side};
  g.out = {1, side, side};
  g.kernel = {1, 3, 3};
  g.padding = {0, 1, 1};
  g.padding_after = {0, 1, 1};
  return g;
}

// Each number by the definition.
std::vector<float> convolved(const ConvGeometry& g, const std::vector<float>& x,
                             const std::vector<float>& w) {
  const int64_t depth = g.in_channels / g.groups;
  std::vector<float> out;
  for (int64_t image = 0; image < g.batch; ++image) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
      const int64_t first = o / (g.out_channels / g.groups) * depth;
      for (int64_t point = 0; point < g.out_points(); ++point) {
        const std::array<int64_t, 3> to{point / (g.out[1] * g.out[2]), point / g.out[2] % g.out[1],
                                        point % g.out[2]};
        double sum = 0;
        for (int64_t c = 0; c < depth; ++c) {
          for (int64_t k = 0; k < g.kernel_points(); ++k) {
            const std::array<int64_t, 3> tap{k / (g.kernel[1] * g.kernel[2]),
                                             k / g.kernel[2] % g.kernel[1], k % g.kernel[2]};
            int64_t at = 0;
            bool is_inside = true;
            for (size_t d = 0; d < 3; ++d) {
              const int64_t from = to[d] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
              is_inside &= from >= 0 && from < g.in[d];
              at = at * g.in[d] + from;
            }
            const int64_t plane = image * g.in_channels + first + c;
            const int64_t weight = (o * depth + c) * g.kernel_points() + k;
            if (is_inside)
              sum += static_cast<double>(x[static_cast<size_t>(plane * g.in_points() + at)]) *
                     static_cast<double>(w[static_cast<size_t>(weight)]);
          }
        }
        out.push_back(static_cast<float>(sum));
      }
    }
  }
  return out;
}

// Volumes and images of groups, padded otherwise before than behind; what follows is done on all
// numbers once.
TEST(ConvolutionForms, GroupsAreConvolvedAsPlanes) {
  ConvGeometry volume = convolution(2, 12, 9);
  volume.rank = 3;
  volume.groups = 4;
  volume.in = {5, 9, 7};
  volume.kernel = {3, 3, 2};
  volume.stride = {1, 2, 1};
  volume.padding = {0, 1, 1};
  volume.padding_after = {2, 1, 0};
  volume.dilation = {2, 1, 1};
  volume.out = {3, 5, 7};
  ConvGeometry image = convolution(2, 12, 9);
  image.groups = 4;
  image.padding = {0, 2, 0};
  image.out = {1, 10, 8};
  for (const ConvGeometry& g : {volume, image}) {
    ASSERT_TRUE(can_convolve_as_planes(g));
    std::vector<float> x(static_cast<size_t>(g.batch * g.in_channels * g.in_points()));
    std::vector<float> w(static_cast<size_t>(g.weights()));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 5 % 7) - 3;
    const std::vector<float> expected = convolved(g, x, w);
    std::vector<float> out(expected.size());
    const std::vector<float> bias(static_cast<size_t>(g.out_channels), 0.5F);
    convolve_as_planes(g, x.data(), w.data(), bias.data(), out.data(),
                       [&](int64_t first, int64_t count) {
                         for (int64_t i = first; i < first + count; ++i)
                           out[static_cast<size_t>(i)] *= 2;
                       });
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 2 * expected[i] + 1) << i;
  }
}

TEST(ConvolutionForms, AFewRowsOfALargeImageAreTried) {
  const ConvGeometry whole = convolution(8, 128, 112);
  const ConvGeometry part = part_to_try(whole);
  EXPECT_EQ(part.batch, 1);
  EXPECT_LT(part.out[1], whole.out[1] / 4);
  EXPECT_GE(part.out_points(), 512);
  EXPECT_EQ(part.out[2], whole.out[2]);
  EXPECT_EQ(part.weights(), whole.weights());
  // Its last row is read to the end and no further: nothing is padded there.
  EXPECT_EQ(part.in[1] + part.padding[1] + part.padding_after[1] - (part.kernel[1] - 1),
            part.out[1]);
}

TEST(ConvolutionForms, ARowOfPointsIsCutAlongItself) {
  ConvGeometry whole = convolution(1, 512, 4000);
  whole.rank = 1;
  whole.in = {1, 1, 4000};
  whole.out = {1, 1, 2000};
  whole.kernel = {1, 1, 3};
  whole.stride = {1, 1, 2};
  whole.padding = {0, 0, 1};
  whole.padding_after = {0, 0, 0};
  const ConvGeometry part = part_to_try(whole);
  EXPECT_EQ(part.out[2], 256);
  EXPECT_EQ(part.in[2], 2 * 255 + 3 - 1);
}

TEST(ConvolutionForms, ALineFromTopToBottomIsOneFromLeftToRight) {
  ConvGeometry line = convolution(2, 96, 126);
  line.in = {1, 126, 1};
  line.out = {1, 121, 1};
  line.kernel = {1, 6, 1};
  line.padding = line.padding_after = {0, 0, 0};
  const PanelConvolution panels = panel_problem(line);
  EXPECT_TRUE(convolution_reads_lines(panels));
  EXPECT_EQ(panels.width, 126);
  EXPECT_EQ(panels.out_width, 121);
  EXPECT_EQ(panels.kernel_width, 6);
  EXPECT_EQ(panels.depth(), 96 * 6);
}

TEST(ConvolutionForms, OfChannelsEachOnItsOwnSomeRowsAreTriedToo) {
  ConvGeometry whole = convolution(16, 96, 112);
  whole.groups = whole.in_channels;
  const ConvGeometry part = part_to_try(whole);
  EXPECT_EQ(part.batch, 1);
  EXPECT_LT(part.out[1], whole.out[1]);
  EXPECT_LE(part.numbers(), 1'200'000);
}

TEST(ConvolutionForms, SmallConvolutionsAreTriedWhole) {
  const ConvGeometry whole = convolution(1, 512, 14);
  const ConvGeometry part = part_to_try(whole);
  EXPECT_EQ(part.batch, 1);
  EXPECT_EQ(part.in, whole.in);
  EXPECT_EQ(part.out, whole.out);
  EXPECT_EQ(part.padding_after, whole.padding_after);
}

TEST(ConvolutionForms, OfAProductSomeRowsAndColumnsAreTried) {
  const PanelConvolution large = part_to_try(panel_product_problem(4096, 768, 50304));
  EXPECT_GE(large.rows(), 96);
  EXPECT_LT(large.rows(), 4096);
  EXPECT_LT(large.out_channels, 50304);
  EXPECT_EQ(large.out_channels % kConvolutionChannels, 0);
  EXPECT_EQ(large.depth(), 768);
  const PanelConvolution small = part_to_try(panel_product_problem(3, 64, 64));
  EXPECT_EQ(small.rows(), 3);
  EXPECT_EQ(small.out_channels, 64);
}

// The result of a convolution of one group by its definition, channels innermost; `weight` is
// [out, in, window].
std::vector<double> by_definition(const ConvGeometry& g, const std::vector<float>& source,
                                  const std::vector<float>& weight) {
  std::vector<double> result;
  const int64_t window = g.kernel_points();
  for (int64_t i = 0; i < g.batch * g.out_points() * g.out_channels; ++i) {
    const int64_t point = i / g.out_channels;
    const std::array<int64_t, 3> at{point / g.out[2] / g.out[1] % g.out[0],
                                    point / g.out[2] % g.out[1], point % g.out[2]};
    double sum = 0;
    for (int64_t k = 0; k < window; ++k) {
      const std::array<int64_t, 3> tap{k / g.kernel[2] / g.kernel[1], k / g.kernel[2] % g.kernel[1],
                                       k % g.kernel[2]};
      int64_t from = point / g.out_points();
      bool is_inside = true;
      for (size_t d = 0; d < 3; ++d) {
        const int64_t place = at[d] * g.stride[d] - g.padding[d] + tap[d] * g.dilation[d];
        is_inside = is_inside && place >= 0 && place < g.in[d];
        from = from * g.in[d] + place;
      }
      for (int64_t c = 0; c < g.in_channels && is_inside; ++c) {
        const auto at_weight = (i % g.out_channels * g.in_channels + c) * window + k;
        sum += static_cast<double>(source[static_cast<size_t>(from * g.in_channels + c)]) *
               weight[static_cast<size_t>(at_weight)];
      }
    }
    result.push_back(sum);
  }
  return result;
}

ConvGeometry volumes(const ConvGeometry::Triple& kernel, const ConvGeometry::Triple& stride,
                     const ConvGeometry::Triple& dilation, const ConvGeometry::Triple& padding) {
  ConvGeometry g;
  g.rank = 3;
  g.batch = 2;
  g.in_channels = 3;
  g.out_channels = 4;
  g.in = {6, 5, 7};
  g.kernel = kernel;
  g.stride = stride;
  g.dilation = dilation;
  g.padding = g.padding_after = padding;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t window = dilation[d] * (kernel[d] - 1) + 1;
    g.out[d] = (g.in[d] + 2 * padding[d] - window) / stride[d] + 1;
  }
  return g;
}

TEST(ConvolutionForms, VolumesWithFlatWindowsArePlanes) {
  const std::vector<ConvGeometry> flat{
      volumes({1, 3, 3}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}),
      volumes({1, 2, 3}, {1, 2, 1}, {1, 2, 2}, {0, 0, 2}),
      volumes({3, 1, 1}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}),
      volumes({2, 1, 1}, {1, 1, 1}, {3, 1, 1}, {2, 0, 0}),
  };
  for (const ConvGeometry& g : flat) {
    const ConvGeometry planes = as_planes(g);
    EXPECT_EQ(planes.rank, 2);
    EXPECT_EQ(planes.padding_after, planes.padding);
    const std::vector<float> source = numbers(g.batch * g.in_points() * g.in_channels, 1);
    const std::vector<float> weight = numbers(g.weights(), 2);
    EXPECT_EQ(by_definition(planes, source, weight), by_definition(g, source, weight));
  }
}

TEST(ConvolutionForms, OtherVolumesStay) {
  EXPECT_EQ(as_planes(volumes({2, 2, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0})).rank, 3);
  EXPECT_EQ(as_planes(volumes({3, 1, 1}, {1, 2, 1}, {1, 1, 1}, {1, 0, 0})).rank, 3);
  EXPECT_EQ(as_planes(volumes({1, 3, 3}, {2, 1, 1}, {1, 1, 1}, {0, 1, 1})).rank, 3);
  EXPECT_EQ(as_planes(volumes({1, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0})).rank, 3);
}

}  // namespace
}  // namespace tierup::kernels::net
