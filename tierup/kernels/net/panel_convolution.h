// Convolution as a product of rows and packed panels, over channels that lie innermost.
//
// A row is what one result's window reads, gathered block by block into the cache, or read where it
// is: windows of one point, and those inside of a line; a panel is some output channels. The work
// is cut into pieces of some rows and some channels, which threads take as they get to them: a
// thread whose core is slower for a while does less. The next panel is asked for while one is
// multiplied, since weights come from memory in a large net.
#pragma once

#include <cstdint>
#include <span>

#include "tierup/kernels/net/panel.h"
#include "tierup/kernels/net/store_step.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {

struct PanelConvolution {
  int64_t batch, height, width, in_channels;
  int64_t out_height, out_width, out_channels;
  int64_t kernel_height, kernel_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
  int64_t pad_top, pad_left;
  bool is_planar = false;  // The source's points lie innermost, not its channels.
  int64_t panel = panel_channels(instruction_set());  // How the weights are packed.
  int64_t row_stride = 0;  // Floats from row to row that is read where it is; 0: in_channels.

  int64_t rows() const { return batch * out_height * out_width; }
  int64_t depth() const { return kernel_height * kernel_width * in_channels; }
  int64_t source_count() const { return batch * height * width * in_channels; }
  int64_t target_count() const { return rows() * out_channels; }
};

// Output channels are multiplied, and biases read, in such groups; of the last one, those beyond
// the output's are zeros that go nowhere.
constexpr int64_t kConvolutionChannels = kPanelGrain;
constexpr int64_t grouped_channels(int64_t channels) {
  return (channels + kPanelGrain - 1) / kPanelGrain * kPanelGrain;
}
// The most of a gathered row that is multiplied at a time: with it, a panel and some rows fit a
// first-level cache.
constexpr int64_t kConvolutionDepth = 160;
// The most of a row that is read where it is: its panel fits a second-level cache, which keeps up
// with the multipliers. The sums of a part of the depth cost more on their way to memory and back
// (rows of 768 channels, two threads: 444 GFLOP/s by parts of 154, 506 at once).
constexpr int64_t kConvolutionRowDepth = 1024;
// From row to row: rows of a power of two would meet in the cache.
constexpr int64_t kConvolutionStride = kConvolutionDepth + 16;
// Fewer input channels than that make runs too short to be gathered row by row: from planes, the
// rows are gathered side by side, one number of all windows after the other.
constexpr int64_t kConvolutionRun = 16;
// From number to number of the windows of so many rows then.
constexpr int64_t convolution_apart(int64_t rows) { return (rows + 31) / 32 * 32 + 16; }

// Whether a window moves over each channel on its own, and the channels are fewer than stand in a
// vector. That is done over planes, whose points fill vectors: with the channels innermost they
// would not.
inline bool is_stencil_of_planes(int64_t in_channels, int64_t out_channels, int64_t groups) {
  return in_channels == groups && out_channels == groups && groups < kConvolutionRun;
}

// Whether rows are read where they are: windows of one point that lie side by side.
constexpr bool convolution_reads_rows(const PanelConvolution& p) {
  return !p.is_planar && p.kernel_height * p.kernel_width == 1 && p.stride_y == 1 &&
         p.stride_x == 1 && p.pad_top == 0 && p.pad_left == 0 && p.out_height == p.height &&
         p.out_width == p.width;
}

// Whether windows move along lines that have no others above them. Those that lie inside of a line
// are read where they are: gathering a few channels of each point takes as long as multiplying
// them.
constexpr bool convolution_reads_lines(const PanelConvolution& p) {
  return !p.is_planar && p.height == 1 && p.out_height == 1 && p.kernel_height == 1 &&
         p.pad_top == 0 && !convolution_reads_rows(p);
}
// So many windows at least: fewer are not worth a panel's way to the cache, beside those at the
// line's ends.
constexpr int64_t kConvolutionInside = 96;

// Whether all rows are gathered before any is multiplied: where they are small beside what many
// panels do with them, with windows of one point, which have nothing twice, and where rows that lie
// there would meet in the cache. Gathered rows are multiplied in fewer parts.
bool convolution_gathers_first(const PanelConvolution& p);

// How much of a row is multiplied at a time at most.
constexpr int64_t convolution_part_depth(const PanelConvolution& p) {
  return convolution_reads_rows(p) ? kConvolutionRowDepth : kConvolutionDepth;
}

// Of what is gathered of so many rows, in floats.
int64_t gathered_count(const PanelConvolution& problem, int64_t rows);

// Of the packed weights, in floats: [panel][window][in channel][its channels].
int64_t convolution_weight_count(const PanelConvolution& problem);
// `weight`: [out, in, kernel height, kernel width], dense; `factors`: of the output channels
// (weight_factors.h), or null.
void pack_convolution_weight(const PanelConvolution& problem, const float* weight,
                             const float* factors, float* packed);
// Of windows of one point; numbers that follow one another along the depth and from column to
// column are so many floats apart.
void pack_product_weight(const PanelConvolution& problem, const float* weight, int64_t depth_stride,
                         int64_t column_stride, float* packed);

// How the work is cut, for so many threads.
struct ConvolutionPlan {
  int64_t row_parts = 1;
  int64_t channel_parts = 1;
  bool by_channels = false;  // A thread's share is of the channels, not of the rows.
  int64_t workers = 1;
  int64_t scratch_of_worker = 0;  // Floats,
  int64_t gathered = 0;           // and those of rows that are gathered first.
  int64_t parts() const { return row_parts * channel_parts; }
  int64_t scratch() const { return workers * scratch_of_worker + gathered; }
};
ConvolutionPlan plan_convolution(const PanelConvolution& problem, int threads);

// `scratch`: so many floats as the plan says; `bias`: grouped_channels(). The target's channels lie
// innermost, too.
void run_convolution(const PanelConvolution& problem, const ConvolutionPlan& plan,
                     const float* source, const float* weights, const float* bias,
                     std::span<const StoreStep> steps, float* target, float* scratch);

// One part's work, per instruction set.
struct ConvolutionPart {
  const PanelConvolution* problem;
  int64_t first_row, last_row;
  int64_t first_channel, last_channel;  // Whole panels, but for the last one.
  const float* source;
  const float* weights;
  const float* bias;
  std::span<const StoreStep> steps;
  float* target;
  float* scratch;
};
using ConvolutionPartFn = void (*)(const ConvolutionPart& part);
ConvolutionPartFn convolution_part_base();
ConvolutionPartFn convolution_part_avx2();
ConvolutionPartFn convolution_part_avx512();

}  // namespace tierup::kernels::net
