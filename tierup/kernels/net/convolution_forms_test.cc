#include "tierup/kernels/net/convolution_forms.h"

#include <gtest/gtest.h>

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

TEST(ConvolutionForms, AFewRowsOfALargeImageAreTried) {
  const ConvGeometry whole = convolution(8, 128, 112);
  const ConvGeometry part = part_to_try(whole);
  EXPECT_EQ(part.batch, 1);
  EXPECT_LT(part.out[1], whole.out[1] / 4);
  EXPECT_GE(part.out_points(), 1024);
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
  EXPECT_EQ(part.out[2], 1024);
  EXPECT_EQ(part.in[2], 2 * 1023 + 3 - 1);
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
  EXPECT_GE(large.rows(), 192);
  EXPECT_LT(large.rows(), 4096);
  EXPECT_LT(large.out_channels, 50304);
  EXPECT_EQ(large.out_channels % kConvolutionChannels, 0);
  EXPECT_EQ(large.depth(), 768);
  const PanelConvolution small = part_to_try(panel_product_problem(3, 64, 64));
  EXPECT_EQ(small.rows(), 3);
  EXPECT_EQ(small.out_channels, 64);
}

}  // namespace
}  // namespace tierup::kernels::net
