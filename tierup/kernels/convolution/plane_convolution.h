// Convolutions of f32 planes, by kernels that are there from the start.
//
// oneDNN generates code for every new size, about half a millisecond each, which is most of a first
// call of a network with many small layers; and between row-major tensors it copies planes and
// weights into its own layouts in each call. Here the weight is read as it stands. What the windows
// of a few result points read is laid side by side ("panels", a vector of points wide each), or, of
// few output channels, read from the rows that windows cover ("strip", or "shifts" where those rows
// are not whole vectors), and tiles of output channels times points are summed in registers. Every
// sum takes its products in the order of the weight's memory and then the bias, whatever the cut
// into panels and threads.
#pragma once

#include <algorithm>
#include <functional>

#include "tierup/kernels/convolution/convolution_geometry.h"

namespace tierup::kernels {

// Whether convolve_planes takes this geometry: one or two dimensions, or three of which each
// channel has windows of its own; not transposed.
bool can_convolve_planes(const ConvGeometry& g);

// input [batch, in, *], weight [out, in / groups, *] and output [batch, out, *] are row-major, bias
// [out] may be null. The output is only written. finish(first, count) is called for each range of
// output numbers when they are there, in one of several threads. Throws kOutOfMemory.
using PlaneFinish = std::function<void(int64_t first, int64_t count)>;
void convolve_planes(const ConvGeometry& g, const float* input, const float* weight,
                     const float* bias, float* output, const PlaneFinish& finish = {});

// The gradient of a convolution's weight, of one or two dimensions, where each output channel reads
// one of several input channels. Throws kOutOfMemory.
bool can_correlate_planes(const ConvGeometry& g);
// input [batch, in, *], grad [batch, out, *] and weight [out, 1, *] are row-major; the weight's
// gradient is added to. Each number is summed in one order, whatever the threads.
void correlate_planes(const ConvGeometry& g, const float* input, const float* grad, float* weight);

// Some output channels and points of one image and group; in one thread, per instruction set.
struct PlanePart {
  int64_t height, width, out_height, out_width;
  int64_t kernel_height, kernel_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
  int64_t pad_top, pad_left;
  int64_t in_channels;  // Of the group; where one channel has several depths, those of a window.
  int64_t plane_step;   // From one of their planes to the next.
  int64_t rows;         // Output channels.
  int64_t first_point, last_point;
  const float* input;   // The group's first plane.
  const float* weight;  // Of the first output channel, as bias and output.
  const float* bias;
  float* output;

  int64_t kernel_points() const { return kernel_height * kernel_width; }
  int64_t depth() const { return in_channels * kernel_points(); }
  int64_t out_points() const { return out_height * out_width; }
};
using PlanePartFn = void (*)(const PlanePart& part);

// Memory for planes and windows that are turned, a lane for each; in floats.
struct SmallPlanesRoom {
  SmallPlanesRoom(const PlanePart& p, int64_t lanes)
      : pitch(std::max(p.pad_left + p.width,
                       (p.out_width - 1) * p.stride_x + (p.kernel_width - 1) * p.dilation_x + 1)),
        in(p.height * pitch * lanes),
        windows((p.kernel_points() + lanes - 1) / lanes * lanes * lanes),
        out((p.out_points() + lanes - 1) / lanes * lanes * lanes) {}
  int64_t floats() const { return in + windows + out; }

  int64_t pitch;  // From row to row of a plane, in vectors.
  int64_t in;
  int64_t windows;
  int64_t out;
};
// Planes [begin, end), each of one input and one output channel, in one thread; `whole` is the
// first one's, of the first of `channels` channels.
using SmallPlanesFn = void (*)(const PlanePart& whole, int64_t channels, int64_t begin,
                               int64_t end);

struct PlaneKernels {
  PlanePartFn dense;
  PlanePartFn single;  // Of one input channel and one output channel; points are whole rows.
                       // A window that reaches over no plane gives the bias.
  PlanePartFn correlate_single;  // Adds the window's gradient to `output`; `weight` is the whole
                                 // gradient of the result, of one channel as `input` is.
  SmallPlanesFn small;
  int64_t lanes;
  // to[i * rows + r] = from[r * step + i] + summand, for `rows` rows of `width` numbers.
  void (*weave)(const float* from, int64_t step, int64_t rows, int64_t width, float summand,
                float* to);
};
PlaneKernels plane_kernels_base();
PlaneKernels plane_kernels_avx2();
PlaneKernels plane_kernels_avx512();

// Those of this processor.
PlaneKernels plane_kernels();

// Points that are gathered at a time.
constexpr int64_t kPlaneBlock = 192;
// Of a window; panels hold all of a channel's.
constexpr int64_t kMostKernelPoints = 1024;
// Columns of a window that have remainders of their own of the stride.
constexpr int64_t kMostPhases = 32;

}  // namespace tierup::kernels
