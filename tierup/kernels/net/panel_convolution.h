// Convolution as a product of rows and packed panels, over channels that lie innermost.
//
// A row is what one result's window reads, gathered block by block into the cache; a panel is 32
// output channels. What oneDNN does for few rows waits for weights from memory: here the next
// panel is asked for while one is multiplied, and each thread that takes a range of output
// channels reads its own weights alone.
#pragma once

#include <cstdint>
#include <span>

#include "tierup/kernels/net/store_step.h"

namespace tierup::kernels::net {

struct PanelConvolution {
  int64_t batch, height, width, in_channels;
  int64_t out_height, out_width, out_channels;
  int64_t kernel_height, kernel_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
  int64_t pad_top, pad_left;

  int64_t rows() const { return batch * out_height * out_width; }
  int64_t depth() const { return kernel_height * kernel_width * in_channels; }
  int64_t source_count() const { return batch * height * width * in_channels; }
  int64_t target_count() const { return rows() * out_channels; }
};

constexpr int64_t kConvolutionPanel = 32;
// Output channels come in such groups; others are not convolved so.
constexpr int64_t kConvolutionChannels = 16;
// The part of a row that is multiplied at a time.
constexpr int64_t kConvolutionDepth = 256;
// From row to row: rows of a power of two would meet in the cache.
constexpr int64_t kConvolutionStride = kConvolutionDepth + 16;

// Of the packed weights, in floats: [panel][window][in channel][32].
int64_t convolution_weight_count(const PanelConvolution& problem);
// `weight`: [out, in, kernel height, kernel width], dense.
void pack_convolution_weight(const PanelConvolution& problem, const float* weight, float* packed);

// How the work is cut, for so many threads.
struct ConvolutionPlan {
  int64_t row_parts = 1;
  int64_t channel_parts = 1;
  int64_t rows_at_a_time = 1;
  int64_t scratch_of_part = 0;  // Floats.
  int64_t parts() const { return row_parts * channel_parts; }
};
ConvolutionPlan plan_convolution(const PanelConvolution& problem, int threads);

// `scratch`: scratch_of_part floats for each part. The target's channels lie innermost, too.
void run_convolution(const PanelConvolution& problem, const ConvolutionPlan& plan,
                     const float* source, const float* weights, const float* bias,
                     std::span<const StoreStep> steps, float* target, float* scratch);

// One part's work, per instruction set.
struct ConvolutionPart {
  const PanelConvolution* problem;
  int64_t first_row, last_row;
  int64_t first_channel, last_channel;
  int64_t rows_at_a_time;
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
